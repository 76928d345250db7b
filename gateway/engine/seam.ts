/** Where one engine's part of a response meets the next one's: repeated white space, and stop strings that span it. */

export interface SeamOptions {
  /** All that the client has received. */
  generated: string;
  stops: readonly string[];
  /** Whether the stop string is part of the output. */
  withStop: boolean;
}

export class Seam {
  readonly #stops: readonly string[];
  readonly #withStop: boolean;
  /** White space that the client has already received. */
  #space: string;
  /** The end of the generated text plus what follows; null once no stop string can span the seam. */
  #around: string | null;
  /** Offset of the seam. */
  readonly #place: number;
  /** Its maximum length. */
  readonly #reach: number;
  /** A stop string was found: the response ends with what `join` returned. */
  isStopped = false;

  constructor({ generated, stops, withStop }: SeamOptions) {
    this.#stops = stops;
    this.#withStop = withStop;
    this.#space = generated.slice(generated.trimEnd().length);
    const most = Math.max(0, ...stops.map(({ length }) => length - 1));
    this.#place = Math.min(most, generated.length);
    this.#reach = this.#place + most;
    this.#around = this.#place === 0 ? null : generated.slice(-this.#place);
  }

  /** The part of the next text that is sent to the client. */
  join(text: string): string {
    const fresh = this.#dropSpace(text);
    return this.#around === null ? fresh : this.#cutAtStop(fresh, this.#around);
  }

  /** The engine did not see it, since templates strip it, so it generates it again. */
  #dropSpace(text: string): string {
    let place = 0;
    while (place < text.length && place < this.#space.length && text[place] === this.#space[place]) place++;
    // From the first difference on, the text is new.
    this.#space = place < text.length ? '' : this.#space.slice(place);
    return text.slice(place);
  }

  #cutAtStop(text: string, before: string): string {
    const around = before + text;
    const ends = this.#stops.flatMap((stop) => {
      // Engines find stop strings before and after the seam themselves.
      const place = around.indexOf(stop, Math.max(0, this.#place - stop.length + 1));
      return place < 0 || place >= this.#place ? [] : [place + (this.#withStop ? stop.length : 0)];
    });
    if (ends.length > 0) {
      this.isStopped = true;
      return text.slice(0, Math.max(0, Math.min(...ends) - before.length));
    }
    this.#around = around.length >= this.#reach ? null : around;
    return text;
  }
}
