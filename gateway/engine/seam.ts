/** Where one engine's part of an answer meets the next one's: white space that comes twice, and stop strings that span it. */

export interface SeamOptions {
  /** All that the client has read. */
  generated: string;
  stops: readonly string[];
  /** Whether the text that stops the answer belongs to it. */
  withStop: boolean;
}

export class Seam {
  readonly #stops: readonly string[];
  readonly #withStop: boolean;
  /** White space that the client has read already. */
  #space: string;
  /** The end of what was generated, with what follows; null once no stop string can span the seam. */
  #around: string | null;
  /** Where in it the seam is. */
  readonly #place: number;
  /** How long it can become. */
  readonly #reach: number;
  /** A stop string was found: the answer ends with what `join` returned. */
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

  /** What of the next piece of text the client is to read. */
  join(text: string): string {
    const fresh = this.#dropSpace(text);
    return this.#around === null ? fresh : this.#cutAtStop(fresh, this.#around);
  }

  /** The engine does not know it, since templates cut it off, so it says it again. */
  #dropSpace(text: string): string {
    let place = 0;
    while (place < text.length && place < this.#space.length && text[place] === this.#space[place]) place++;
    // At the first difference the engine has come to something else.
    this.#space = place < text.length ? '' : this.#space.slice(place);
    return text.slice(place);
  }

  #cutAtStop(text: string, before: string): string {
    const around = before + text;
    const ends = this.#stops.flatMap((stop) => {
      // Those before and behind the seam are the engines' own to find.
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
