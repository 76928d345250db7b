/** How far a download is: one line that changes in a terminal, a line from time to time elsewhere. */
import { formatGibibytes } from '../../weights/eviction.ts';

export interface ProgressOutput {
  isTTY?: boolean;
  write(text: string): unknown;
}

const TERMINAL_INTERVAL_MS = 250;
const LINE_INTERVAL_MS = 10_000;
const MIB = 1024 ** 2;

export class DownloadProgress {
  readonly #total: number;
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  #done = 0;
  #first: { bytes: number; at: number } | undefined;
  #shownAt = -Infinity;

  constructor(total: number, output: ProgressOutput, now = () => performance.now()) {
    this.#total = total;
    this.#output = output;
    this.#now = now;
  }

  add(bytes: number): void {
    this.#done += bytes;
    this.#first ??= { bytes: this.#done, at: this.#now() };
    this.#tell();
  }

  /** What an earlier attempt left is checked, which may take minutes and says nothing about the speed. */
  addPresent(bytes: number): void {
    this.#done += bytes;
    this.#tell();
  }

  #tell(): void {
    const now = this.#now();
    const interval = this.#output.isTTY ? TERMINAL_INTERVAL_MS : LINE_INTERVAL_MS;
    if (now - this.#shownAt < interval) return;
    this.#shownAt = now;
    this.#show(now);
  }

  end(): void {
    this.#show(this.#now());
    if (this.#output.isTTY) this.#output.write('\n');
  }

  #show(now: number): void {
    const seconds = (now - (this.#first?.at ?? now)) / 1_000;
    const rate = seconds > 0 ? (this.#done - this.#first!.bytes) / seconds : 0;
    const verb = this.#first ? 'downloading' : 'checking what is there';
    const line = describeProgress({ verb, done: this.#done, total: this.#total, rate });
    this.#output.write(this.#output.isTTY ? `\r${line}\u001b[K` : `${line}\n`);
  }
}

/** `rate`: bytes per second, 0 if unknown. */
function describeProgress(progress: { verb: string; done: number; total: number; rate: number }): string {
  const { verb, done, total, rate } = progress;
  const percent = Math.floor((100 * done) / Math.max(1, total));
  const left = done < total && rate > 0 ? `, ${formatTime((total - done) / rate)} left` : '';
  const speed = rate > 0 ? `, ${(rate / MIB).toFixed(1)} MiB/s` : '';
  return `${verb}: ${percent} % of ${formatGibibytes(total)}${speed}${left}`;
}

const formatTime = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
