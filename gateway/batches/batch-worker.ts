/** Runs lines of batches on slots that nothing else needs; in the front, it ends batches whose lines are no longer run. */
import { randomBytes } from 'node:crypto';
import { claimChunk } from '../../redis/batches/batch-records.ts';
import { isRedisAway } from '../../redis/client.ts';
import { WindDown } from '../jobs/wind-down.ts';
import { ChunkRun, type ChunkServices } from './chunk-run.ts';

export interface BatchWorkerOptions extends ChunkServices {
  /** Where lines are run; null: nowhere, so only chunks of batches that are ending are claimed. */
  engine: LineEngine | null;
  /** Whose batches it claims. */
  namespace: () => string;
  deployment: () => string | null;
  pollMs?: number;
}

export interface LineEngine {
  /** A slot for a line; null: none is idle. The function releases it; `revoke` is called if a request takes it. */
  lend(revoke: () => void): (() => void) | null;
  /** Whether lines may be run now. */
  isOpen(): boolean;
  /** It ends what it has, and begins nothing. */
  isLeaving(): boolean;
}

/** A new batch is announced: polling finds chunks that lost their worker. */
const POLL_MS = 5_000;
const RETRY_MS = 500;
/** The end of one overlaps with the start of the next (decision 0376). */
const MAX_CHUNKS = 8;

export class BatchWorker {
  readonly #options: BatchWorkerOptions;
  readonly #runs = new Set<ChunkRun>();
  #isClaiming = false;
  #isAskedAgain = false;
  readonly #windDown = new WindDown();
  #isStopped = false;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: BatchWorkerOptions) {
    this.#options = options;
    this.#schedule(POLL_MS);
  }

  /** Chunks that it has claimed. */
  get running(): number {
    return this.#runs.size;
  }

  /** Slots may be idle, or chunks wait. */
  wake(): void {
    this.fill();
    if (this.#isClaiming) this.#isAskedAgain = true;
    else if (this.#mayClaim) void this.#claim();
  }

  /** Claims nothing more; chunks that have not ended shortly before `withinMs` are given back. */
  windDown(withinMs: number): void {
    this.#windDown.start(withinMs, () => {
      for (const run of this.#runs) run.release();
    });
  }

  resume(): void {
    if (this.#isStopped) return;
    this.#windDown.cancel();
    this.wake();
  }

  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#poll);
    this.windDown(withinMs);
    await Promise.all([...this.#runs].map(({ ended }) => ended));
    this.#windDown.close();
  }

  /** Runs lines as long as slots are idle. Asks Redis nothing. */
  fill(): void {
    const { engine } = this.#options;
    if (!engine) return;
    for (let run = this.#findWaiting(); run && engine.isOpen(); run = this.#findWaiting()) {
      const revoked = new AbortController();
      const release = engine.lend(() => revoked.abort());
      if (!release) return;
      void run.runLine(revoked.signal).finally(() => {
        release();
        this.wake();
      });
    }
  }

  /** The oldest first, so that few are open; no other one while space on disk is scarce. */
  #findWaiting(): ChunkRun | undefined {
    for (const run of this.#runs) {
      if (run.isWaiting) return run;
      if (!this.#options.storage.spool.isHalfFree && !run.isPaused) return undefined;
    }
    return undefined;
  }

  get #mayClaim(): boolean {
    if (this.#windDown.isOn || this.#isStopped || this.#runs.size >= MAX_CHUNKS) return false;
    const { engine } = this.#options;
    if (!engine) return true;
    if (!engine.isOpen() || engine.isLeaving()) return false;
    if (this.#runs.size > 0 && !this.#options.storage.spool.isHalfFree) return false;
    // The next is ready when lines run out. Those whose keys have to wait do not count.
    const active = [...this.#runs].filter(({ isPaused }) => !isPaused);
    const sum = (count: (run: ChunkRun) => number) => active.reduce((total, run) => total + count(run), 0);
    return (
      sum(({ waiting }) => waiting) <
      Math.max(
        1,
        sum(({ running }) => running),
      )
    );
  }

  async #claim(): Promise<void> {
    const { redis, log, namespace, deployment } = this.#options;
    this.#isClaiming = true;
    let delayMs = this.#options.pollMs ?? POLL_MS;
    try {
      while (this.#mayClaim) {
        const token = randomBytes(16).toString('hex');
        const paused = [...this.#runs].filter(({ isPaused }) => isPaused).map(({ batch }) => batch);
        const question = { namespace: namespace(), deployment: deployment(), token, skipped: paused };
        const chunk = await claimChunk(redis, question);
        if (!chunk) break;
        const run = new ChunkRun(this.#options, chunk, () => this.wake());
        this.#runs.add(run);
        void run.ended.then(() => {
          this.#runs.delete(run);
          this.wake();
        });
      }
    } catch (error) {
      delayMs = RETRY_MS;
      if (!isRedisAway(error)) log.error({ err: error }, 'claiming lines of a batch failed');
    }
    this.#isClaiming = false;
    const isAskedAgain = this.#isAskedAgain;
    this.#isAskedAgain = false;
    if (isAskedAgain && this.#mayClaim && delayMs !== RETRY_MS) void this.#claim();
    // Jittered, so that replicas do not all ask at the same moment.
    this.#schedule(delayMs * (1 + Math.random()));
  }

  #schedule(ms: number): void {
    clearTimeout(this.#poll);
    if (this.#isStopped) return;
    this.#poll = setTimeout(() => {
      this.#schedule(POLL_MS);
      this.wake();
    }, ms);
    this.#poll.unref();
  }
}
