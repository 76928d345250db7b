/** A claimed chunk from its lines to what it has written. Its worker decides when a line is run. */
import { setTimeout as wait } from 'node:timers/promises';
import { MAX_BATCH_LINE_BYTES } from '../../api/batch.ts';
import {
  CHUNK_RENEWAL_MS,
  type ClaimedChunk,
  finishChunk,
  releaseChunk,
  renewChunk,
} from '../../redis/batches/batch-records.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import type { ChunkMode } from '../../redis/function-table.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { parseBody } from '../http/body-parsing.ts';
import { ApiError } from '../http/error-response.ts';
import { keepLease } from '../jobs/lease.ts';
import type { StorageServices } from '../jobs/services.ts';
import type { Logger } from '../telemetry/log.ts';
import { getMemberOf } from '../text/request-body.ts';
import { ChunkOutput } from './chunk-output.ts';
import { LineQueue, type WaitingLine } from './line-queue.ts';
import { readLines } from './line-reader.ts';
import type { LineAnswer, LineRunner } from './line-runner.ts';
import { formatAnswer, formatFault, UNRUN } from './output-line.ts';
import { openObject } from './stored-lines.ts';

export interface ChunkServices {
  redis: RedisClient;
  storage: StorageServices;
  log: Logger;
  /** null: no line is run here. */
  runner: LineRunner | null;
}

/** `lost`: another worker has it, or it was released. */
export type ChunkEnd = 'finished' | 'lost';

const FINAL_CALL_TIMEOUT_MS = 4_000;
const RETRY_MS = 1_000;
/** Limits may be raised meanwhile. */
const MAX_PAUSE_MS = 10_000;
const FAILURE_MS = 10_000;
/** No engine took it: that says nothing of the line. */
const UNAVAILABLE = new Set([429, 503]);

export class ChunkRun {
  /** Resolves at its end in every case; never rejects. */
  readonly ended: Promise<ChunkEnd>;
  readonly #services: ChunkServices;
  readonly #chunk: ClaimedChunk;
  readonly #output: ChunkOutput;
  readonly #lost = new AbortController();
  readonly #onReady: () => void;
  readonly #endCost: () => void;
  #mode: ChunkMode;
  readonly #lines: LineQueue;
  #running = 0;
  #isRead = false;
  /** What it writes cannot be held: there is no space. */
  #isBroken = false;
  /** Resolved when no line is left. */
  #settle: () => void = () => {};

  /** `onReady`: lines can be run. */
  constructor(services: ChunkServices, chunk: ClaimedChunk, onReady: () => void) {
    this.#services = services;
    this.#chunk = chunk;
    this.#mode = chunk.mode;
    this.#onReady = onReady;
    this.#lines = new LineQueue(() => {
      this.#check();
      onReady();
    });
    this.#output = new ChunkOutput(services.storage.spool, () => {
      this.#isBroken = true;
      this.#settle();
    });
    const cost = { sha256: chunk.sha256, micros: () => this.#output.micros };
    this.#endCost = services.runner?.watch(cost) ?? (() => {});
    this.ended = this.#run();
  }

  /** Whether a line can be run now. */
  get isWaiting(): boolean {
    return this.#mode === 'run' && this.#lines.waiting > 0 && !this.isPaused && !this.#isBroken;
  }

  /** Its key or the engine has to rest. */
  get isPaused(): boolean {
    return this.#lines.isPaused;
  }

  get batch(): string {
    return this.#chunk.claim.id;
  }

  /** Lines that are left, though none may be run now; infinite until they are known. */
  get waiting(): number {
    return this.#isRead ? this.#lines.waiting : Number.POSITIVE_INFINITY;
  }

  /** Lines that are being run. */
  get running(): number {
    return this.#running;
  }

  /** Gives the chunk back; another worker starts it over. */
  release(): void {
    this.#lost.abort();
  }

  /** Runs one line, in a slot of the caller; `revoked`: the slot is needed, so the line waits again. Never rejects. */
  async runLine(revoked: AbortSignal): Promise<void> {
    const line = this.#lines.take();
    this.#running++;
    try {
      const { endpoint: path, sha256 } = this.#chunk;
      const answer = await this.#services.runner!.run({
        ...{ path, body: line.body, sha256 },
        signal: AbortSignal.any([this.#lost.signal, revoked]),
      });
      this.#take(line, answer);
    } catch (error) {
      if (revoked.aborted) this.#lines.putBack(line);
      else if (!this.#lost.signal.aborted) this.#fail(line, error);
    }
    this.#running--;
    this.#check();
  }

  #take(line: WaitingLine, answer: LineAnswer): void {
    const text = formatAnswer(line.customId, answer);
    if (answer.status < 400) this.#output.addAnswer(text, answer.bill);
    else if (UNAVAILABLE.has(answer.status)) this.#lines.pause(line, RETRY_MS);
    else if (isPassing(answer.status) && this.#lines.repeat(line)) return;
    else this.#output.addError(text, answer.bill);
  }

  #fail(line: WaitingLine, error: unknown): void {
    const isKnown = error instanceof ApiError;
    if (isKnown && error.code === 'rate_limit_exceeded') {
      // Limits of the key hold for lines, too: they wait.
      this.#lines.pause(line, Math.min(MAX_PAUSE_MS, (error.details.retryAfter ?? 1) * 1_000));
    } else if ((!isKnown || error.status >= 500) && !isCredit(error) && this.#lines.repeat(line)) return;
    else if (isKnown) this.#output.addError(formatFault(line.customId, error));
    else {
      this.#services.log.error({ err: error }, 'a line of a batch failed');
      const fault = { code: 'internal_error', message: 'The line could not be run.' };
      this.#output.addError(formatFault(line.customId, fault));
    }
  }

  async #run(): Promise<ChunkEnd> {
    const { log } = this.#services;
    const endLease = keepLease({
      // Its batch has a window instead.
      remainingMs: Number.POSITIVE_INFINITY,
      renew: () => this.#renew(),
      onLost: () => this.#lost.abort(),
      onError: (err) => log.error({ err }, 'renewing the claim of a chunk failed'),
      renewalMs: CHUNK_RENEWAL_MS,
    });
    const settled = new Promise<void>((resolve) => {
      this.#settle = resolve;
    });
    this.#lost.signal.addEventListener('abort', () => this.#settle());
    try {
      await this.#read();
      this.#check();
      this.#onReady();
      await settled;
      return this.#lost.signal.aborted ? await this.#giveBack() : await this.#finish();
    } catch (error) {
      if (!this.#lost.signal.aborted) {
        log.error({ err: error, batch: this.#chunk.claim.id }, 'a chunk failed');
        // Nobody else would do better at once.
        await wait(FAILURE_MS, undefined, { signal: this.#lost.signal }).catch(() => {});
      }
      this.#lost.abort();
      return this.#giveBack();
    } finally {
      this.#endCost();
      endLease();
      await this.#output.remove().catch(() => {});
    }
  }

  async #read(): Promise<void> {
    const { namespace } = this.#chunk.claim;
    const { object, place: range } = this.#chunk;
    const { signal } = this.#lost;
    const source = await this.#retry(() =>
      openObject(this.#services.storage, { namespace, object, range, signal }),
    ).catch((error) => {
      if (!isGone(error)) throw error;
      // Nobody can read it, so the batch ends without these lines rather than never.
      this.#services.log.error({ err: error, batch: this.#chunk.claim.id }, 'the input of a batch is gone');
      return [];
    });
    for await (const { bytes } of readLines(source as AsyncIterable<Buffer>, MAX_BATCH_LINE_BYTES)) {
      const parsed = parseBody(bytes!);
      const customId = String(parsed.value.custom_id);
      this.#lines.add({ customId, body: getMemberOf(parsed, 'body')!, attempts: 0 });
    }
    this.#isRead = true;
  }

  /** After each change: of lines that are no longer run, the file of errors says so. */
  #check(): void {
    if (!this.#isRead) return;
    if (this.#mode !== 'run')
      for (const { customId } of this.#lines.takeAll())
        this.#output.addError(formatFault(customId, UNRUN[this.#mode]));
    if (this.#lines.size + this.#running === 0) this.#settle();
  }

  async #finish(): Promise<ChunkEnd> {
    const { redis, storage } = this.#services;
    const { claim } = this.#chunk;
    const { signal } = this.#lost;
    const outcome = await this.#retry(() => this.#output.store({ ...storage, redis }, claim, signal));
    this.#endCost();
    const answer = await retryWhileRedisDown(() => finishChunk(redis, claim, outcome), signal);
    if (answer === 'done') return 'finished';
    const objects = [outcome.output, outcome.errors].flatMap((part) => (part ? [part.object] : []));
    await registerObjects(redis, claim.namespace, { objects, removeInMs: 0 });
    return 'lost';
  }

  async #giveBack(): Promise<ChunkEnd> {
    const { redis } = this.#services;
    // If this fails, the lease expires.
    await retryWhileRedisDown(
      () => releaseChunk(redis, this.#chunk.claim),
      AbortSignal.timeout(FINAL_CALL_TIMEOUT_MS),
    ).catch(() => {});
    return 'lost';
  }

  /** Until the chunk is lost: what is in the store is waited for. */
  async #retry<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        this.#lost.signal.throwIfAborted();
        if (isPermanent(error) || this.#isBroken) throw error;
        if (!isRedisAway(error)) this.#services.log.warn({ err: error }, 'the store of a batch failed');
        await wait(RETRY_MS, undefined, { signal: this.#lost.signal });
      }
    }
  }

  async #renew(): Promise<'renewed' | 'stale'> {
    const mode = await renewChunk(this.#services.redis, this.#chunk.claim);
    if (mode === 'stale' || this.#lost.signal.aborted) return 'stale';
    if (mode !== this.#mode) {
      this.#mode = mode;
      this.#check();
    }
    return 'renewed';
  }
}

const isPassing = (status: number): boolean => status >= 500;
const isGone = (error: unknown): boolean => error instanceof ApiError && error.code === 'result_expired';
/** Others may pass: results wait for their store. */
const isPermanent = (error: unknown): boolean =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  (error instanceof ApiError && error.status < 500);
const isCredit = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'insufficient_quota';
