/** What a command prints: text for people, or JSON for programs. */
import { EXIT_CODES, Failure, type FailureKind } from './failure.ts';

export interface Streams {
  out: (text: string) => void;
  error: (text: string) => void;
  /** Resolves once the reader keeps up. */
  drained?: () => Promise<void>;
  /** Whether a person reads the output. */
  isTerminal: boolean;
}

export class Output {
  readonly isJSON: boolean;
  readonly #streams: Streams;
  exitCode = 0;

  constructor(streams: Streams, isJSON: boolean) {
    this.#streams = streams;
    this.isJSON = isJSON;
  }

  /** `value` in a line of JSON, or the text. */
  show(value: object, text: () => string): void {
    this.#streams.out(`${this.isJSON ? escapeControls(JSON.stringify(value)) : printable(text())}\n`);
  }

  /** Between many lines: a slow reader would fill the memory. */
  async drain(): Promise<void> {
    await this.#streams.drained?.();
  }

  /** Without a line feed; nothing with JSON. */
  write(text: string): void {
    if (!this.isJSON) this.#streams.out(text);
  }

  /** Dimmed, and for people only. */
  writeAside(text: string): void {
    if (!this.isJSON && this.#streams.isTerminal) this.#streams.out(`\x1b[2m${text}\x1b[22m`);
  }

  /** For people, apart from the result. */
  note(text: string): void {
    if (!this.isJSON) this.#streams.error(`${printable(text)}\n`);
  }

  /** A part of the result that is missing: an object of it, or a note. */
  report(value: object, note: string): void {
    if (this.isJSON) this.show(value, () => '');
    else this.note(note);
  }

  endWith(kind: FailureKind): void {
    this.exitCode = EXIT_CODES[kind];
  }

  fail(error: Error): void {
    const kind = error instanceof Failure ? error.kind : 'failed';
    const { message } = error;
    this.endWith(kind);
    this.#streams.error(
      this.isJSON
        ? `${escapeControls(JSON.stringify({ error: { code: kind, message } }))}\n`
        : `berth: ${printable(message)}\n`,
    );
  }
}

/** Control characters beyond ASCII, which JSON does not escape. */
export const escapeControls = (json: string): string =>
  json.replaceAll(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);

/** Without control characters, which could drive the terminal; line feeds and tabs stay. */
export const printable = (text: string): string => text.replaceAll(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');
