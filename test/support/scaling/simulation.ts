/** Replays requests on replicas under an autoscaler with a virtual clock: waits, running replicas and changes. */

export interface SimulatedRequest {
  /** Milliseconds. */
  at: number;
  serviceMs: number;
}

/** What an autoscaler may read; counters only increase. */
export interface Observation {
  now: number;
  /** Replicas that it last requested. */
  wanted: number;
  ready: number;
  starting: number;
  inflight: number;
  waiting: number;
  /** Slot-milliseconds of requests served or waiting at a replica. */
  busyMs: number;
  /** The same of requests held while there is no replica. */
  heldMs: number;
  arrivals: number;
  lastActive: number;
}

export type Autoscaler = (observation: Observation) => number;

export interface SimulationOptions {
  requests: readonly SimulatedRequest[];
  slots: number;
  loadMs: number;
  initial: number;
  durationMs: number;
  /** Between two decisions of the autoscaler. */
  tickMs: number;
  scale: Autoscaler;
}

export interface Change {
  at: number;
  from: number;
  to: number;
}

export interface Point {
  at: number;
  demand: number;
  wanted: number;
  ready: number;
  waiting: number;
}

export interface SimulationResult {
  changes: Change[];
  /** Sorted, in milliseconds. */
  waits: number[];
  gpuSeconds: number;
  points: Point[];
}

/** A replica serves `slots` requests at once; others wait in line. Surplus replicas end when idle. */
export function simulate(options: SimulationOptions): SimulationResult {
  const { requests, slots, loadMs, durationMs, tickMs, scale } = options;
  const ends = new Heap();
  const line: SimulatedRequest[] = [];
  let lineHead = 0;
  const loading: number[] = [];
  const waits: number[] = [];
  const changes: Change[] = [];
  const points: Point[] = [];
  let [now, ready, wanted, next] = [0, options.initial, options.initial, 0];
  let [busyMs, heldMs, gpuMs, lastActive, nextTick] = [0, 0, 0, 0, tickMs];
  const waiting = () => line.length - lineHead;
  const advance = (to: number) => {
    const span = to - now;
    gpuMs += (ready + loading.length) * span;
    if (ready === 0) heldMs += waiting() * span;
    else busyMs += waiting() * span;
    busyMs += ends.size * span;
    if (ends.size + waiting() > 0) lastActive = to;
    now = to;
  };
  const settle = () => {
    // Surplus replicas end as soon as the others can take the requests in progress.
    while (ready + loading.length > wanted && ends.size <= (ready - 1) * slots && ready > 0) ready--;
    while (waiting() > 0 && ends.size < ready * slots) {
      const request = line[lineHead++]!;
      waits.push(now - request.at);
      ends.push(now + request.serviceMs);
    }
  };
  while (now < durationMs) {
    const arrival = requests[next]?.at ?? Number.POSITIVE_INFINITY;
    const to = Math.min(arrival, ends.first, loading[0] ?? Number.POSITIVE_INFINITY, nextTick, durationMs);
    advance(to);
    while (ends.first <= now) ends.pop();
    while (loading.length > 0 && loading[0]! <= now) {
      loading.shift();
      ready++;
    }
    if (arrival <= now) {
      line.push(requests[next++]!);
      lastActive = now;
    }
    settle();
    if (now >= nextTick) {
      const decided = scale({
        now,
        wanted,
        ready,
        starting: loading.length,
        inflight: ends.size,
        waiting: waiting(),
        busyMs,
        heldMs,
        arrivals: next,
        lastActive,
      });
      if (decided !== wanted) changes.push({ at: now, from: wanted, to: decided });
      wanted = decided;
      while (ready + loading.length < wanted) loading.push(now + loadMs);
      while (ready + loading.length > wanted && loading.length > 0) loading.pop();
      settle();
      points.push({ at: now, demand: ends.size + waiting(), wanted, ready, waiting: waiting() });
      nextTick += tickMs;
    }
  }
  // Requests that still wait at the end have waited until then.
  for (const { at } of line.slice(lineHead)) waits.push(durationMs - at);
  return { changes, waits: [...Float64Array.from(waits).sort()], gpuSeconds: gpuMs / 1000, points };
}

export const percentile = (sorted: readonly number[], share: number): number =>
  sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;

/** Times, the earliest first. */
class Heap {
  readonly #times: number[] = [];

  get size(): number {
    return this.#times.length;
  }

  get first(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY;
  }

  push(time: number): void {
    const times = this.#times;
    let index = times.push(time) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (times[parent]! <= time) break;
      times[index] = times[parent]!;
      index = parent;
    }
    times[index] = time;
  }

  pop(): void {
    const times = this.#times;
    const last = times.pop()!;
    if (times.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= times.length) break;
      if (child + 1 < times.length && times[child + 1]! < times[child]!) child++;
      if (times[child]! >= last) break;
      times[index] = times[child]!;
      index = child;
    }
    times[index] = last;
  }
}
