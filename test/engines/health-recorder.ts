/** Records a gateway's observations of an engine: by its health check, and by requests sent like a gateway's. */
import type { Dispatcher } from 'undici';
import { EngineHealth } from '../../gateway/health/engine-health.ts';
import { Http1Client } from '../../kit/http1-client.ts';
import { formatStep } from '../support/health-traces/trace-lines.ts';
import { pollUntil } from '../support/poll.ts';
import type { Fields } from './answers.ts';

const STALLED_MS = 600_000;

export class HealthRecorder {
  readonly lines: string[] = [];
  readonly #health: EngineHealth;
  readonly #client: Http1Client;
  readonly #pool: Dispatcher;
  readonly #model: string;
  readonly #startedAt: number;
  #isStopped = false;

  /** `origin`: of the engine. */
  constructor(origin: string, model: string) {
    this.#model = model;
    this.#health = new EngineHealth({
      engineURL: origin,
      path: '/health',
      stalledMs: () => STALLED_MS,
      onObservation: (at, seen) => this.lines.push(formatStep(at - this.#startedAt, seen)),
    });
    this.#startedAt = this.#health.clock.now();
    this.#client = new Http1Client(origin);
    this.#pool = this.#health.watch(this.#client);
  }

  /** Records an action on the engine. */
  note(did: string): void {
    this.lines.push(formatStep(this.#elapsed, did));
  }

  get #elapsed(): number {
    return this.#health.clock.now() - this.#startedAt;
  }

  /** Requests a stream and reads it to its end, repeatedly until the signal aborts or the recording ends. */
  async ask(body: Fields, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isStopped)
      await this.#pool
        .request({
          path: '/v1/chat/completions',
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: this.#model, stream: true, ...body }),
          signal,
        })
        .then(async ({ body }) => {
          for await (const _ of body);
        })
        // Like clients without a Retry-After.
        .catch(() => new Promise((resolve) => setTimeout(resolve, RETRY_MS)));
  }

  untilHealthy(timeoutMs: number): Promise<void> {
    return pollUntil(() => this.#health.verdict.phase === 'healthy', 'the engine to be healthy', timeoutMs);
  }

  /** Continues the recording for this long. */
  async last(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await pollUntil(() => this.#elapsed >= end, `${ms / 1000} s of a recording`, 3 * ms);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#health.stop();
    await this.#client.destroy();
  }
}

const RETRY_MS = 2_000;
