/** The context length that the engine reports, for `GET /v1/models`, which never waits for it (decision 0217). */
import type { Dispatcher } from 'undici';
import type { ModelKind } from '../../api/engine-presets.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { isObject } from '../../kit/json.ts';
import { fetchFromEngine } from '../upstream/engine-request.ts';

export interface ContextLengthOptions {
  /** Connections to the engine. */
  pool: () => Dispatcher;
  config: () => Pick<GatewayConfig, 'kind' | 'enginePreset'>;
  clock?: Clock;
}

/** Where and how an engine reports it. */
interface Source {
  path: string;
  read(answer: unknown): unknown;
}

const MODEL_LIST: Source = {
  path: '/v1/models',
  read: (answer) => {
    const first: unknown = isObject(answer) && Array.isArray(answer.data) ? answer.data[0] : null;
    return isObject(first) ? first.max_model_len : null;
  },
};
/** All others list it with the model; those that do not report it leave it unknown. */
const SOURCES: Readonly<Record<string, Source>> = {
  // Per slot: the context is shared between concurrent requests.
  'llama-cpp': {
    path: '/props',
    read: (answer) => {
      const settings = isObject(answer) ? answer.default_generation_settings : null;
      return isObject(settings) ? settings.n_ctx : null;
    },
  },
  tei: { path: '/info', read: (answer) => (isObject(answer) ? answer.max_input_length : null) },
};

/** Kinds whose requests are counted in tokens. */
const TOKENIZED: ReadonlySet<ModelKind> = new Set<ModelKind>(['LLM', 'Embedding', 'Rerank']);

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Engines that do not report it are not asked at every request. */
const RETRY_MS = 30_000;

export class ContextLength {
  readonly #options: ContextLengthOptions;
  readonly #clock: Clock;
  #value: number | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  constructor(options: ContextLengthOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Null while unknown; the engine is then asked, for the next call. */
  get value(): number | null {
    if (this.#value === null && this.#clock.now() - this.#askedAt >= RETRY_MS) this.refresh();
    return this.#value;
  }

  /** Asks the engine, which may have restarted. The last value is kept until it responds. */
  refresh(): void {
    if (this.#isAsking || !TOKENIZED.has(this.#options.config().kind)) return;
    this.#isAsking = true;
    this.#askedAt = this.#clock.now();
    void this.#ask().finally(() => {
      this.#isAsking = false;
    });
  }

  async #ask(): Promise<void> {
    const { path, read } = SOURCES[this.#options.config().enginePreset] ?? MODEL_LIST;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const request = { path, method: 'GET', signal, maxBytes: MAX_ANSWER_BYTES } as const;
      const { status, body } = await fetchFromEngine(this.#options.pool(), request);
      const length = status === 200 ? read(JSON.parse(body.toString('utf8'))) : null;
      if (Number.isSafeInteger(length) && (length as number) > 0) this.#value = length as number;
    } catch {
      // An engine that does not report it is fine: the member is absent.
    }
  }
}
