/** The text generated so far, kept within limits for an engine that continues it. */
import { GrowingBuffer } from '../../kit/growing-buffer.ts';

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
  readonly #content = new GrowingBuffer();
  readonly #reasoning = new GrowingBuffer();
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

  #add(text: GrowingBuffer, piece: string): void {
    if (this.obstacle !== null) return;
    text.addText(piece, 'utf8');
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
