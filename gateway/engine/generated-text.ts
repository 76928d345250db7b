/** The text generated so far, kept within limits for an engine that continues it. */

export interface GeneratedTextOptions {
  /** Reserves memory; false if there is none left. */
  reserve(bytes: number): boolean;
}

/** Longer responses are not continued: keeping them would cost more than it is worth. */
export const MAX_GENERATED_BYTES = 256 * 1024;
/** Less is not accounted for. */
const SMALL_BYTES = 16 * 1024;

export class GeneratedText {
  readonly #options: GeneratedTextOptions;
  readonly #content = new GrowingText();
  readonly #reasoning = new GrowingText();
  #reserved = SMALL_BYTES;
  /** Why it cannot be continued; null if it can. */
  obstacle: string | null = null;
  hasContent = false;

  constructor(options: GeneratedTextOptions) {
    this.#options = options;
  }

  get content(): string {
    return this.#content.toString();
  }

  get reasoning(): string {
    return this.#reasoning.toString();
  }

  /** The model is still reasoning. */
  get isReasoning(): boolean {
    return this.#reasoning.length > 0 && !this.hasContent;
  }

  addContent(piece: string): void {
    this.hasContent = true;
    this.#add(this.#content, piece);
  }

  addReasoning(piece: string): void {
    this.#add(this.#reasoning, piece);
  }

  /** It cannot be continued, so nothing is kept. */
  giveUp(obstacle: string): void {
    this.obstacle ??= obstacle;
    this.#content.clear();
    this.#reasoning.clear();
  }

  #add(text: GrowingText, piece: string): void {
    if (this.obstacle !== null) return;
    text.add(piece);
    if (this.#content.length + this.#reasoning.length > MAX_GENERATED_BYTES) {
      this.giveUp(`it is longer than ${MAX_GENERATED_BYTES} bytes`);
      return;
    }
    const missing = this.#content.capacity + this.#reasoning.capacity - this.#reserved;
    if (missing <= 0) return;
    if (this.#options.reserve(missing)) this.#reserved += missing;
    else this.giveUp('there is no memory to keep it');
  }
}

const FIRST_BYTES = 1_024;
/** Of a character of UTF-16. */
const MAX_CHARACTER_BYTES = 3;

/** A string for each of thousands of pieces would take ten times the memory of the text. */
class GrowingText {
  #buffer = Buffer.alloc(0);
  /** In bytes. */
  length = 0;

  get capacity(): number {
    return this.#buffer.length;
  }

  add(piece: string): void {
    const needed = this.length + piece.length * MAX_CHARACTER_BYTES;
    if (needed > this.#buffer.length) this.#grow(needed);
    this.length += this.#buffer.write(piece, this.length, 'utf8');
  }

  clear(): void {
    this.#buffer = Buffer.alloc(0);
    this.length = 0;
  }

  toString(): string {
    return this.#buffer.toString('utf8', 0, this.length);
  }

  #grow(needed: number): void {
    const larger = Buffer.alloc(Math.max(needed, 2 * this.#buffer.length, FIRST_BYTES));
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
  }
}
