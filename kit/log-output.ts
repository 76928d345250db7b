/** Standard output of a program that must not wait for whoever reads its log; only its exit does. */
import { writeSync } from 'node:fs';

const STDOUT = 1;
/** Maximum of unread lines; more are dropped. */
const MAX_PENDING_BYTES = 4 * 1024 ** 2;
/** Lines are collected into one write, since one for each is a tenth of a request's cost. */
const COLLECT_MS = 10;
/** As much as an empty pipe takes. */
const COLLECT_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

export class LogOutput {
  #lines = '';
  /** What the pipe had no room for. */
  #rest: Buffer = NOTHING;
  #timer: NodeJS.Timeout | null = null;

  constructor() {
    // Node makes a pipe or socket non-blocking when it opens the stream, which is not used: it would lose what it holds at an exit.
    void process.stdout;
    process.on('exit', () => this.#end());
  }

  write(line: string): void {
    if (this.#rest.length + this.#lines.length > MAX_PENDING_BYTES) return;
    this.#lines += line;
    if (this.#lines.length > COLLECT_BYTES && this.#rest.length === 0) this.#flush();
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  /** Writes what there is room for now; whether that was all. */
  #flush(): boolean {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#rest.length === 0) {
      this.#rest = Buffer.from(this.#lines);
      this.#lines = '';
    }
    this.#rest = this.#rest.subarray(writeSome(this.#rest));
    if (this.#rest.length === 0 && this.#lines === '') return true;
    this.#timer = setTimeout(() => this.#flush(), COLLECT_MS);
    return false;
  }

  #end(): void {
    const clock = new Int32Array(new SharedArrayBuffer(4));
    while (!this.#flush()) Atomics.wait(clock, 0, 0, 1);
  }
}

/** Bytes written. Those that nobody can read anymore count, too. */
function writeSome(bytes: Buffer): number {
  try {
    return bytes.length > 0 ? writeSync(STDOUT, bytes) : 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : bytes.length;
  }
}
