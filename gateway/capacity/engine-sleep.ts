/**
 * Sleep mode of an idle engine, as in vLLM: it frees its GPU memory and keeps its process. The operator
 * decides when; the next request ends it (decision 0275). Nothing is sent to an engine that sleeps, or is about to.
 */
import type { Dispatcher } from 'undici';
import { fetchFromEngine } from '../upstream/engine-request.ts';

/** `unknown`: this process has not asked the engine yet. */
type State = 'unknown' | 'awake' | 'falling' | 'asleep' | 'waking';

export interface EngineSleepOptions {
  /** Connections to the engine. */
  pool: () => Pick<Dispatcher, 'request'>;
  /** Whether its configuration says that this engine can sleep. */
  isOffered: () => boolean;
  /** Whether no slot of the engine is taken, waited for or reserved. */
  isIdle: () => boolean;
  /** It fell asleep, or was woken (after `tookMs`). */
  onChange: (isAsleep: boolean, tookMs: number) => void;
  /** It could not be woken: failed work. */
  onWakeFailure: () => void;
  onError: (error: unknown, message: string) => void;
  timeoutMs?: number;
}

/** Weights are reloaded from the host's memory in seconds, however large. */
const TIMEOUT_MS = 60_000;
/** Between two checks of an engine that is quiet. */
const RECHECK_MS = 5_000;
const MAX_ANSWER_BYTES = 4_096;

export class EngineSleep {
  readonly #options: EngineSleepOptions;
  #state: State = 'unknown';
  #isDesired = false;
  #recheckAt = 0;
  /** The change in progress: one at a time. */
  #change: Promise<void> = Promise.resolve();

  constructor(options: EngineSleepOptions) {
    this.#options = options;
  }

  /** Requests may be sent to it. */
  get isAwake(): boolean {
    return this.#state === 'awake' || (this.#state === 'unknown' && !this.#options.isOffered());
  }

  get isAsleep(): boolean {
    return this.#state === 'asleep';
  }

  /** Applies the operator's decision. Each time it is newly set, the engine goes to sleep if idle; no request is interrupted. */
  setDesired(mustSleep: boolean): void {
    const isNew = mustSleep && !this.#isDesired;
    this.#isDesired = mustSleep;
    if (isNew && this.#options.isOffered() && this.isAwake && this.#options.isIdle()) this.#fall();
  }

  /** Resolves once the engine is awake. Rejects if it cannot be woken: the next call retries. */
  wake(): Promise<void> {
    if (this.isAwake || this.#state === 'waking') return this.isAwake ? Promise.resolve() : this.#change;
    const isFalling = this.#state === 'falling';
    const wasAsleep = this.#state === 'asleep';
    this.#state = 'waking';
    this.#change = (isFalling ? this.#change : Promise.resolve()).then(() => this.#wakeNow(wasAsleep));
    return this.#change;
  }

  /** The engine or this gateway has restarted: the engine is asked for its state. */
  check(): void {
    if (!this.#options.isOffered() || this.#state === 'waking' || this.#state === 'falling') return;
    this.#state = 'unknown';
    this.#isSleeping().then(
      (isSleeping) => {
        if (this.#state !== 'unknown') return;
        this.#state = isSleeping ? 'asleep' : 'awake';
        if (!isSleeping && this.#isDesired && this.#options.isIdle()) this.#fall();
      },
      (error: unknown) => this.#options.onError(error, 'could not check whether the engine is asleep'),
    );
  }

  /**
   * Work waits without output. If somebody else has put the engine to sleep or paused it, which vLLM both reports as asleep while its
   * health check is good, it is woken, and serves what waits.
   */
  recheck(): void {
    const now = performance.now();
    if (!this.#options.isOffered() || this.#state !== 'awake' || now < this.#recheckAt) return;
    this.#recheckAt = now + RECHECK_MS;
    this.#isSleeping().then(
      (isSleeping) => {
        if (!isSleeping || this.#state !== 'awake') return;
        this.#state = 'asleep';
        this.#options.onChange(true, 0);
        // A failure is reported there.
        this.wake().catch(() => {});
      },
      // A busy engine answers late.
      () => {},
    );
  }

  #fall(): void {
    this.#state = 'falling';
    const startedAt = performance.now();
    this.#change = this.#call('POST', '/sleep?level=1').then(
      () => {
        // A request may have arrived meanwhile: it waits for this.
        if (this.#state === 'falling') this.#state = 'asleep';
        this.#options.onChange(true, performance.now() - startedAt);
      },
      (error: unknown) => {
        if (this.#state === 'falling') this.#state = 'unknown';
        this.#options.onError(error, 'could not put the engine to sleep');
      },
    );
  }

  /** `wasAsleep`: so it was reported, though somebody else may have woken it since. */
  async #wakeNow(wasAsleep: boolean): Promise<void> {
    const startedAt = performance.now();
    try {
      const isSleeping = await this.#isSleeping();
      if (isSleeping) await this.#call('POST', '/wake_up');
      if (isSleeping || wasAsleep) this.#options.onChange(false, performance.now() - startedAt);
      this.#state = 'awake';
    } catch (error) {
      this.#state = 'unknown';
      this.#options.onError(error, 'could not wake the engine');
      this.#options.onWakeFailure();
      throw error;
    }
  }

  /** An engine without these routes never sleeps. */
  async #isSleeping(): Promise<boolean> {
    const answer = await this.#call('GET', '/is_sleeping', [404]);
    return answer !== null && (JSON.parse(answer) as { is_sleeping?: unknown }).is_sleeping === true;
  }

  /** null: one of the `known` statuses. */
  async #call(method: 'GET' | 'POST', path: string, known: number[] = []): Promise<string | null> {
    const { pool, timeoutMs = TIMEOUT_MS } = this.#options;
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, body } = await fetchFromEngine(pool(), {
      path,
      method,
      signal,
      maxBytes: MAX_ANSWER_BYTES,
    });
    if (known.includes(status)) return null;
    if (status !== 200) throw new Error(`${path} returned ${status}`);
    return body.toString();
  }
}
