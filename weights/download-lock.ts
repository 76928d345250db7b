/**
 * The lock of an entry's download, so that others wait. Two may hold it briefly if one was lost: that costs a download and
 * nothing else.
 */
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../kit/clock.ts';
import { PeriodicTask } from '../kit/periodic-task.ts';
import { readMtime } from './volume.ts';

/** A holder renews its lock at this interval, and has lost it after `LOCK_TTL_MS`. */
const RENEWAL_INTERVAL_MS = 5_000;
export const LOCK_TTL_MS = 30_000;

export class DownloadLock {
  readonly #folder: string;
  readonly #path: string;
  readonly #owner: string;

  constructor(folder: string, owner: string) {
    this.#folder = folder;
    this.#path = join(folder, 'lock');
    this.#owner = owner;
  }

  /** `now`: by the volume's clock. */
  async acquire(now: number): Promise<boolean> {
    await mkdir(this.#folder, { recursive: true });
    if ((await this.isHeld(now)) && !(await this.#isOwn())) return false;
    await rm(this.#path, { force: true });
    const handle = await open(this.#path, 'wx').catch(() => undefined);
    await handle?.writeFile(this.#owner);
    await handle?.close();
    return handle !== undefined;
  }

  /** By anyone. `now`: by the volume's clock. */
  async isHeld(now: number): Promise<boolean> {
    return now - (await readMtime(this.#path)) < LOCK_TTL_MS;
  }

  /** Renews an acquired lock until the returned function is called, which releases it. */
  keep(clock: Clock): () => Promise<void> {
    const task = new PeriodicTask({
      run: async () => {
        await this.#renew();
      },
      intervalMs: RENEWAL_INTERVAL_MS,
      // The next one may succeed.
      onError: () => {},
      clock,
    });
    task.start(RENEWAL_INTERVAL_MS);
    return async () => {
      await task.stop();
      await this.#release();
    };
  }

  /** False if another has it by now. */
  async #renew(): Promise<boolean> {
    if (!(await this.#isOwn())) return false;
    await writeFile(this.#path, this.#owner);
    return true;
  }

  async #release(): Promise<void> {
    if (await this.#renew().catch(() => false)) await rm(this.#path, { force: true });
  }

  async #isOwn(): Promise<boolean> {
    return (await readFile(this.#path, 'utf8').catch(() => '')) === this.#owner;
  }
}
