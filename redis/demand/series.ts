/** Series over a time window in bounded memory: points closer than a fraction of the window are merged. */

const POINTS = 128;

interface Point {
  at: number;
  value: number;
}

abstract class Series {
  protected windowMs: number;
  protected spacingMs: number;
  protected points: Point[] = [];

  /** Keeps `windowMs` milliseconds. */
  constructor(windowMs: number) {
    this.windowMs = windowMs;
    this.spacingMs = windowMs / POINTS;
  }

  /** Keeps this many milliseconds from now on. */
  widen(windowMs: number): void {
    this.windowMs = windowMs;
    this.spacingMs = windowMs / POINTS;
  }

  clear(): void {
    this.points = [];
  }
}

/** A quantity that only grows, such as slot-milliseconds in use. */
export class AreaSeries extends Series {
  push(at: number, value: number): void {
    const { points, spacingMs } = this;
    const [previous, last] = [points.at(-2), points.at(-1)];
    if (previous && last!.at - previous.at < spacingMs) points.pop();
    points.push({ at, value });
    // Interpolation starts at the last point before the window.
    while (points.length > 2 && points[1]!.at <= at - this.windowMs) points.shift();
  }

  /** Its value at a time, linearly interpolated; undefined before the first. */
  areaAt(at: number): number | undefined {
    const { points } = this;
    let index = points.length - 1;
    while (index >= 0 && points[index]!.at > at) index--;
    const [before, after] = [points[index], points[index + 1]];
    if (!before) return undefined;
    if (!after) return before.value;
    return before.value + ((after.value - before.value) * (at - before.at)) / (after.at - before.at);
  }
}

/** Keeps only values that no later one exceeds, so the first one since any time is the maximum. */
export class PeakSeries extends Series {
  push(at: number, value: number): void {
    const { points, spacingMs } = this;
    while (points.length > 0 && points.at(-1)!.value <= value) points.pop();
    const [previous, last] = [points.at(-2), points.at(-1)];
    // The higher of two close ones, at the later time: peaks are never dropped too early.
    if (previous && last && at - previous.at < spacingMs) {
      points.pop();
      previous.at = last.at;
    }
    points.push({ at, value });
    while (points[0]!.at < at - this.windowMs) points.shift();
  }

  highestSince(at: number): number | undefined {
    return this.points.find((point) => point.at >= at)?.value;
  }
}
