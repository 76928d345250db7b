/** The last lines of a log, as plain text. Pure. */

const MAX_LINES = 5_000;
const MAX_LINE_CHARS = 4_000;
/** Colours and cursor movements of terminals. */
const CONTROL_SEQUENCES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

export class LogBuffer {
  #lines: string[] = [];
  #rest = '';

  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    // A line without an end must not grow for ever.
    this.#rest = lines.pop()!.slice(0, MAX_LINE_CHARS);
    this.#lines.push(...lines.map(cleanLine));
    if (this.#lines.length > MAX_LINES) this.#lines.splice(0, this.#lines.length - MAX_LINES);
  }

  get text(): string {
    return [...this.#lines, ...(this.#rest ? [cleanLine(this.#rest)] : [])].join('\n');
  }
}

/** Progress bars write one line again and again: the last state counts. */
function cleanLine(line: string): string {
  const whole = line.replace(/\r+$/, '');
  const last = whole.slice(whole.lastIndexOf('\r') + 1);
  return last.replaceAll(CONTROL_SEQUENCES, '').slice(0, MAX_LINE_CHARS);
}
