/** Answers that survive their engine: a broken stream of a plain chat goes on at another one; its client sees a pause. */
import { type Clock, sleep, systemClock } from '../../kit/clock.ts';
import type { EngineTarget } from '../capacity/capacity.ts';
import type { ContinuedFilter } from '../engine/continued-filter.ts';
import { EngineMemoryError } from '../engine/engine-error.ts';
import { ApiError } from '../http/error-response.ts';
import { openLease } from '../http/json-body.ts';
import type { GatewayState } from '../http/exchange.ts';
import type { Logger } from '../telemetry/log.ts';
import { type Continuable, countLeft, writeContinuation } from './continuation.ts';
import {
  acquireTarget,
  askTarget,
  type EngineQuestion,
  type EngineServices,
  noteFailure,
} from './engine-question.ts';

export interface ContinuationServices extends EngineServices {
  log: Pick<Logger, 'info' | 'warn'>;
  clock?: Clock;
}

export interface ContinuedQuestion extends EngineQuestion {
  body: Buffer;
  filter: ContinuedFilter;
  continuable: Continuable;
  /** Asks for memory for a body; false where there is none left. */
  reserve(bytes: number): boolean;
}

/** A request may be what kills its engines. */
const MAX_CONTINUATIONS = 2;
/** Proxies and clients commonly give up a stream that is silent for a minute. */
const MAX_PAUSE_MS = 30_000;
/** By then the health check has noticed that the engine is lost: if it counts as ready, it is back. */
const NOTICED_MS = 2_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 2_000;
/** A smaller body needs no account. */
const SMALL_BYTES = 16 * 1024;
/** Of a body while it is changed: its text, the changed text, and what lies between. */
const COPIES = 5;

/** As `askEngine`; rejects with the error that broke the stream where it cannot go on. */
export const askContinued = (
  services: ContinuationServices,
  state: GatewayState,
  question: ContinuedQuestion,
): Promise<void> => new ContinuedAnswer(services, state, question).run();

class ContinuedAnswer {
  readonly #services: ContinuationServices;
  readonly #state: GatewayState;
  readonly #question: ContinuedQuestion;
  readonly #clock: Clock;
  #continuations = 0;
  /** What broke the stream first: what its client is told if it cannot go on. */
  #breach: ApiError | null = null;

  constructor(services: ContinuationServices, state: GatewayState, question: ContinuedQuestion) {
    this.#services = services;
    this.#state = state;
    this.#question = question;
    this.#clock = services.clock ?? systemClock;
  }

  async run(): Promise<void> {
    let target = await acquireTarget(this.#services.capacity, this.#state);
    let body = this.#question.body;
    for (;;) {
      const error = await this.#ask(target, body);
      if (!error) break;
      if (this.#hasEnded()) {
        this.#state.exchange.stream!.end(this.#question.filter.complete());
        break;
      }
      this.#breach ??= error;
      const obstacle = this.#findObstacle(error);
      if (obstacle !== null) throw this.#giveUp(obstacle);
      target = await this.#findTarget(target.origin);
      body = this.#continueBody(target);
    }
    if (this.#breach !== null) this.#services.metrics.continuedStreams.inc({ outcome: 'completed' });
  }

  /** Null: the answer is complete. Rejects where nothing can go on: nothing has been sent, or the request is canceled. */
  async #ask(target: EngineTarget, body: Buffer): Promise<ApiError | null> {
    const services = this.#services;
    const { exchange } = this.#state;
    const headers = { ...this.#question.headers, 'content-length': String(body.length) };
    try {
      await askTarget(target, { services, exchange, question: { ...this.#question, headers, body } });
      return null;
    } catch (error) {
      if (exchange.canceled || !(error instanceof ApiError)) throw error;
      if (this.#question.filter.finish === null) noteFailure(error, services);
      // The client's own retry is as good.
      if (exchange.stream === null) throw error;
      return error;
    }
  }

  /** Whether nothing is missing but the last words. */
  #hasEnded(): boolean {
    const { filter, continuable } = this.#question;
    if (countLeft(continuable, filter.estimatedTokens) <= 0) filter.finish ??= 'length';
    return filter.finish !== null;
  }

  #findObstacle(error: ApiError): string | null {
    const { said, hasProgress } = this.#question.filter;
    if (error.code !== 'upstream_error' || error instanceof EngineMemoryError)
      return `the engine refused it with ${error.code}`;
    if (said.obstacle !== null) return said.obstacle;
    // Engines do not take up a thought in its middle.
    if (said.isReasoning) return 'its model was still reasoning';
    if (this.#continuations >= MAX_CONTINUATIONS) return `it was continued ${MAX_CONTINUATIONS} times`;
    return this.#continuations > 0 && !hasProgress ? 'the next engine added nothing to it' : null;
  }

  #giveUp(reason: string): ApiError {
    const { log, metrics } = this.#services;
    metrics.continuedStreams.inc({ outcome: this.#continuations > 0 ? 'failed' : 'impossible' });
    log.warn({ request_id: this.#state.exchange.requestId, reason }, 'a broken stream cannot be continued');
    return this.#breach!;
  }

  /** A place on another engine, or on the same one once it is back. Rejects where there is none in time. */
  async #findTarget(lost: string): Promise<EngineTarget> {
    const { exchange } = this.#state;
    const lostAt = this.#clock.now();
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      const target = await this.#tryTarget(lost, this.#clock.now() - lostAt);
      if (exchange.canceled) target?.release();
      exchange.check();
      if (target) return target;
      if (this.#clock.now() - lostAt + retryMs > MAX_PAUSE_MS)
        throw this.#giveUp(`no engine had a place within ${MAX_PAUSE_MS / 1000} s`);
      // Many streams break at once: they must not ask the peers at once, too.
      await sleep(this.#clock, retryMs * (0.5 + Math.random() / 2), exchange.signal);
      exchange.check();
    }
  }

  async #tryTarget(lost: string, pausedMs: number): Promise<EngineTarget | null> {
    const { capacity } = this.#services;
    const { exchange, keyHash: id, priority = 0 } = this.#state;
    const acquisition = await (pausedMs < NOTICED_MS
      ? capacity.acquireElsewhere(lost, exchange.signal)
      : capacity.acquire(exchange.signal, { id, priority }));
    return 'target' in acquisition ? acquisition.target : null;
  }

  /** The request for what is missing; its answer is the next part. */
  #continueBody(target: EngineTarget): Buffer {
    const { filter, continuable, body } = this.#question;
    const { content, reasoning } = filter.said;
    const tokens = filter.estimatedTokens;
    try {
      const next = this.#writeWithin(body.length, () =>
        writeContinuation(body, continuable, { content: content.trimEnd(), reasoning, tokens }),
      );
      if (!next) throw this.#giveUp('there is no memory for another request');
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
      return lease.tryAdd(COPIES * bytes) && this.#question.reserve(bytes) ? write() : null;
    } finally {
      lease.release();
    }
  }
}
