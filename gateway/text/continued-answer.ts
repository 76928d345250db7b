/** Streams that survive their engine: a broken stream of a plain chat continues on another; its client sees a pause (decision 0215). */
import { type Clock, sleep, systemClock } from '../../kit/clock.ts';
import { type Backoff, backoffDelay } from '../../kit/retry.ts';
import type { Acquisition, EngineTarget } from '../capacity/capacity.ts';
import type { ContinuedFilter } from '../engine/continued-filter.ts';
import { EngineMemoryError, EngineRefusedError, EngineUnreachableError } from '../engine/engine-error.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { openLease } from '../http/json-body.ts';
import { askTarget, type EngineQuestion } from '../run/engine-question.ts';
import {
  acquireTarget,
  type EngineServices,
  hasAskedOwnEngine,
  isOwnVersion,
  noteFailure,
} from '../run/engine-run.ts';
import type { Logger } from '../telemetry/log.ts';
import { type Continuable, isUsedUp, writeContinuation } from './continuation.ts';

export interface ContinuationServices extends EngineServices {
  log: Pick<Logger, 'info' | 'warn'>;
  /** For the pauses; absent: the system clock. */
  clock?: Clock | undefined;
  /** Whether this replica is about to be killed. */
  isEnding?: () => boolean;
}

export interface ContinuedQuestion extends EngineQuestion {
  body: Buffer;
  filter: ContinuedFilter;
  continuable: Continuable;
  /** Reserves memory for a body; false if there is none left. */
  reserve(bytes: number): boolean;
}

/** Bounded, since the request itself may crash engines. */
const MAX_CONTINUATIONS = 2;
/** Proxies and clients commonly time out a stream that is silent for a minute. */
const MAX_PAUSE_MS = 30_000;
/** By then the health check has noticed the lost engine: if it counts as ready, it is back. */
const NOTICED_MS = 2_000;
const BACKOFF: Backoff = { baseMs: 250, maxMs: 2_000 };
/** Before the first attempt. */
const MAX_JITTER_MS = 100;
/** A smaller body is not accounted for. */
const SMALL_BYTES = 16 * 1024;
/** Memory of a body while it is edited: its text, the changed text, and intermediate copies. */
const COPIES = 5;

/** As `answerFromEngine`; rejects with the error that broke the stream if it cannot continue. */
export const askContinued = (
  services: ContinuationServices,
  state: GatewayState,
  question: ContinuedQuestion,
): Promise<void> => new ContinuedAnswer(services, state, question).run();

interface Loss {
  error: ApiError;
  since: number;
  /** Origins of engines known to be lost. */
  origins: Set<string>;
  /** The other deployment that the stream is of; null: this one. */
  version: string | null;
  /** To find another one. */
  tries: number;
}

class ContinuedAnswer {
  readonly #services: ContinuationServices;
  readonly #state: GatewayState;
  readonly #question: ContinuedQuestion;
  readonly #clock: Clock;
  #continuations = 0;
  /** The latest error of the stream. */
  #loss: Loss | null = null;
  /** The last continuation that was requested. */
  #next: Buffer | null = null;
  #isReserved = false;

  constructor(services: ContinuationServices, state: GatewayState, question: ContinuedQuestion) {
    this.#services = services;
    this.#state = state;
    this.#question = question;
    this.#clock = services.clock ?? systemClock;
  }

  async run(): Promise<void> {
    let target = await acquireTarget(this.#services, this.#state);
    let body = this.#question.body;
    for (;;) {
      const error = await this.#ask(target, body);
      if (!error) break;
      if (this.#hasEnded()) {
        const { exchange } = this.#state;
        exchange.stream!.end(exchange.account.addReceipt(this.#question.filter.complete()));
        break;
      }
      this.#noteLoss(error, target);
      const obstacle = this.#findObstacle(error);
      if (obstacle !== null) throw this.#giveUp(obstacle, this.#continuations > 0 ? 'failed' : 'impossible');
      target = await this.#findTarget();
      body = this.#continueBody(target);
    }
    if (this.#loss !== null) this.#services.metrics.continuedStreams.inc({ outcome: 'completed' });
  }

  /** Null: the response is complete. Rejects if there is nothing to continue: nothing was sent, or the request is canceled. */
  async #ask(target: EngineTarget, body: Buffer): Promise<ApiError | null> {
    const services = this.#services;
    const state = this.#state;
    const { exchange } = state;
    try {
      const question = { ...this.#question, body };
      await askTarget(target, { services, state, question });
      return null;
    } catch (error) {
      if (this.#question.filter.finish === null)
        noteFailure(error, services, hasAskedOwnEngine(exchange, services.config()));
      if (exchange.canceled || !(error instanceof ApiError)) throw error;
      // The client's own retry is just as good.
      if (exchange.firstByteAt === 0) throw error;
      return error;
    }
  }

  /** Whether only the final events are missing. */
  #hasEnded(): boolean {
    const { filter, continuable } = this.#question;
    if (isUsedUp(continuable, filter.estimatedTokens, filter.isEstimate)) filter.finish ??= 'length';
    return filter.finish !== null;
  }

  #noteLoss(error: ApiError, { origin }: EngineTarget): void {
    const { hasProgress } = this.#question.filter;
    const { exchange } = this.#state;
    // It may have started at another one than was asked first.
    const version = isOwnVersion(exchange, this.#services.config()) ? null : exchange.version;
    // The client gets the error that broke the stream, not those of the recovery.
    if (this.#loss === null || hasProgress)
      this.#loss = { error, since: this.#clock.now(), origins: new Set(), version, tries: 0 };
    this.#loss.origins.add(exchange.askedOrigin ?? origin);
    this.#loss.origins.add(origin);
    // An engine that never received the request does not count.
    if (this.#isUntouched(error)) this.#continuations--;
  }

  /** Whether the engine never received the request, or reports that it has no slot for it. */
  #isUntouched(error: ApiError): boolean {
    if (error instanceof EngineUnreachableError) return true;
    return error instanceof EngineRefusedError && this.#next !== null && !this.#question.filter.hasProgress;
  }

  #findObstacle(error: ApiError): string | null {
    const { generated, hasProgress } = this.#question.filter;
    if (this.#isUntouched(error)) return null;
    const isBroken = error.code === 'upstream_error' || (error instanceof EngineRefusedError && hasProgress);
    if (!isBroken || error instanceof EngineMemoryError) return `the engine rejected it with ${error.code}`;
    if (generated.obstacle !== null) return generated.obstacle;
    // Engines cannot continue partial reasoning.
    if (generated.isReasoning) return 'its model was still reasoning';
    if (this.#continuations >= MAX_CONTINUATIONS) return `it was continued ${MAX_CONTINUATIONS} times`;
    return this.#continuations > 0 && !hasProgress ? 'the next engine added nothing to it' : null;
  }

  #giveUp(reason: string, outcome: 'failed' | 'impossible'): ApiError {
    const { log, metrics } = this.#services;
    metrics.continuedStreams.inc({ outcome });
    log.warn({ request_id: this.#state.exchange.requestId, reason }, 'a broken stream cannot be continued');
    return this.#loss!.error;
  }

  /** A slot on another engine, or on one that has recovered. Rejects if there is none in time. */
  async #findTarget(): Promise<EngineTarget> {
    const { exchange } = this.#state;
    const loss = this.#loss!;
    for (;;) {
      if (loss.tries++ > 0) await this.#pause(loss);
      // Many streams break at once: jitter keeps them from asking the peers all at once.
      else await sleep(this.#clock, Math.random() * MAX_JITTER_MS, exchange.signal);
      exchange.check();
      if (this.#services.isEnding?.()) throw this.#giveUp('the replica is shutting down', 'failed');
      const target = await this.#tryTarget(loss);
      if (exchange.canceled) target?.release();
      exchange.check();
      if (target) return target;
    }
  }

  async #pause({ since, tries }: Loss): Promise<void> {
    const ms = backoffDelay(BACKOFF, tries - 1);
    if (this.#clock.now() - since + ms > MAX_PAUSE_MS)
      throw this.#giveUp(`no engine accepted it within ${MAX_PAUSE_MS / 1000} s`, 'failed');
    await sleep(this.#clock, ms, this.#state.exchange.signal);
  }

  async #tryTarget({ since, origins, version }: Loss): Promise<EngineTarget | null> {
    const { capacity, traffic } = this.#services;
    const { exchange, keyHash: id, priority = 0, conversation } = this.#state;
    const elapsedMs = this.#clock.now() - since;
    // Another version would continue in other words.
    if (version !== null && traffic)
      return traffic.acquire(version, conversation!, {
        signal: exchange.signal,
        ...(elapsedMs < NOTICED_MS && { lost: origins }),
      });
    if (elapsedMs < NOTICED_MS) return findTarget(await capacity.acquireElsewhere(origins, exchange.signal));
    const late = new AbortController();
    const cancelTimer = this.#clock.after(Math.max(0, MAX_PAUSE_MS - elapsedMs), () => late.abort());
    try {
      const signal = AbortSignal.any([exchange.signal, late.signal]);
      return findTarget(await capacity.acquire(signal, { id, priority }));
    } finally {
      cancelTimer();
    }
  }

  /** The request for the rest; its response is the next part. */
  #continueBody(target: EngineTarget): Buffer {
    const { filter, continuable, body } = this.#question;
    const { content, reasoning } = filter.generated;
    const tokens = filter.estimatedTokens;
    try {
      // If an engine never received it, another is asked the same.
      const isSame = this.#next !== null && !filter.hasProgress;
      const next = isSame
        ? this.#next
        : this.#writeWithin(body.length, () =>
            writeContinuation(body, continuable, { content: content.trimEnd(), reasoning, tokens }),
          );
      if (!next) throw this.#giveUp('there is no memory for another request', 'failed');
      this.#next = next;
      filter.beginPart();
      this.#continuations++;
      const { requestId: request_id } = this.#state.exchange;
      this.#services.log.info(
        { request_id, tokens, continuation: this.#continuations, isLocal: target.local },
        'continuing a broken stream',
      );
      return next;
    } catch (error) {
      target.release();
      throw error;
    }
  }

  #writeWithin(bytes: number, write: () => Buffer): Buffer | null {
    if (bytes <= SMALL_BYTES) return write();
    const lease = openLease(this.#state);
    try {
      // The previous one is gone by then.
      this.#isReserved ||= this.#question.reserve(bytes);
      return this.#isReserved && lease.tryAdd(COPIES * bytes) ? write() : null;
    } finally {
      lease.release();
    }
  }
}

const findTarget = (acquisition: Acquisition): EngineTarget | null =>
  'target' in acquisition ? acquisition.target : null;
