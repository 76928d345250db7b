/** The last lines of a log, as plain text. Pure. */

const MAX_LINES = 5_000;
const MAX_LINE_CHARS = 4_000;
/** Colors and cursor movements of terminals. */
const CONTROL_SEQUENCES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

export class LogBuffer {
  #lines: string[] = [];
  #rest = '';

  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    // An unterminated line must not grow forever. What a progress bar overwrites is not needed.
    const rest = lines.pop()!;
    this.#rest = rest.slice(findLastState(rest).start).slice(0, MAX_LINE_CHARS);
    this.#lines.push(...lines.map(cleanLine));
    if (this.#lines.length > MAX_LINES) this.#lines.splice(0, this.#lines.length - MAX_LINES);
  }

  get text(): string {
    return [...this.#lines, ...(this.#rest ? [cleanLine(this.#rest)] : [])].join('\n');
  }
}

/** The lines that have a text in them, in any case; all without one. */
export function findLines(text: string, wanted: string) {
  const isFiltered = wanted.trim() !== '';
  if (!isFiltered) return { text, isFiltered, count: 0, total: 0 };
  const lines = text.split('\n');
  const lowered = wanted.trim().toLowerCase();
  const found = lines.filter((line) => line.toLowerCase().includes(lowered));
  return { text: found.join('\n'), isFiltered, count: found.length, total: text ? lines.length : 0 };
}

function cleanLine(line: string): string {
  const { start, end } = findLastState(line);
  return line.slice(start, end).replaceAll(CONTROL_SEQUENCES, '').slice(0, MAX_LINE_CHARS);
}

/** Progress bars write one line again and again: the last state counts. */
function findLastState(line: string): { start: number; end: number } {
  let end = line.length;
  while (end > 0 && line[end - 1] === '\r') end--;
  return { start: end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1, end };
}
