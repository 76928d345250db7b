/**
 * What the engine reports of itself: its context length, for `GET /v1/models`, which never waits for it (decision 0217), and whether its
 * chat template has tools.
 */
import type { Dispatcher } from 'undici';
import type { ModelKind } from '../../api/engine-presets.ts';
import { type EngineTraits, traitsOf } from '../../api/engine-traits.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { isObject } from '../../kit/json.ts';
import { fetchFromEngine } from '../upstream/engine-request.ts';

export interface EngineReportOptions {
  /** Connections to the engine. */
  pool: () => Dispatcher;
  config: () => Pick<GatewayConfig, 'kind' | 'enginePreset'>;
  clock?: Clock;
}

/** Where and how an engine reports it. */
interface Source {
  path: string;
  read(answer: unknown): unknown;
  /** Absent: it is not reported. */
  readTools?(answer: unknown): unknown;
}

const SOURCES: Readonly<Record<EngineTraits['contextSource'], Source>> = {
  // Engines that do not report it leave it unknown.
  models: {
    path: '/v1/models',
    read: (answer) => {
      const first: unknown = isObject(answer) && Array.isArray(answer.data) ? answer.data[0] : null;
      return isObject(first) ? first.max_model_len : null;
    },
  },
  // Per slot: the context is shared between concurrent requests.
  props: {
    path: '/props',
    read: (answer) => {
      const settings = isObject(answer) ? answer.default_generation_settings : null;
      return isObject(settings) ? settings.n_ctx : null;
    },
    readTools: (answer) =>
      isObject(answer) && isObject(answer.chat_template_caps)
        ? answer.chat_template_caps.supports_tools
        : null,
  },
  info: { path: '/info', read: (answer) => (isObject(answer) ? answer.max_input_length : null) },
};

/** Kinds whose requests are counted in tokens. */
const TOKENIZED: ReadonlySet<ModelKind> = new Set<ModelKind>(['LLM', 'Embedding', 'Rerank']);

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Engines that do not report it are not asked at every request. */
const RETRY_MS = 30_000;

export class EngineReport {
  readonly #options: EngineReportOptions;
  readonly #clock: Clock;
  #contextLength: number | null = null;
  #takesTools: boolean | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  constructor(options: EngineReportOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Null while unknown; the engine is then asked, for the next call. */
  get contextLength(): number | null {
    if (this.#contextLength === null) this.#retry();
    return this.#contextLength;
  }

  /** Whether the chat template has tools, as is assumed of engines that do not report it; null until the engine responds. */
  get takesTools(): boolean | null {
    if (this.#takesTools === null) this.#retry();
    return this.#takesTools;
  }

  #retry(): void {
    if (this.#clock.now() - this.#askedAt >= RETRY_MS) this.refresh();
  }

  /** Asks the engine, which may have restarted. What it reported is kept until it responds. */
  refresh(): void {
    if (this.#isAsking || !TOKENIZED.has(this.#options.config().kind)) return;
    this.#isAsking = true;
    this.#askedAt = this.#clock.now();
    void this.#ask().finally(() => {
      this.#isAsking = false;
    });
  }

  async #ask(): Promise<void> {
    const { path, read, readTools } = SOURCES[traitsOf(this.#options.config().enginePreset).contextSource];
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const request = { path, method: 'GET', signal, maxBytes: MAX_ANSWER_BYTES } as const;
      const { status, body } = await fetchFromEngine(this.#options.pool(), request);
      // It is still loading its model.
      if (status >= 500) return;
      this.#takesTools ??= true;
      if (status !== 200) return;
      const answer: unknown = JSON.parse(body.toString('utf8'));
      const length = read(answer);
      if (Number.isSafeInteger(length) && (length as number) > 0) this.#contextLength = length as number;
      const tools = readTools?.(answer);
      if (typeof tools === 'boolean') this.#takesTools = tools;
    } catch {
      // An engine that does not report it is fine: the member is absent.
    }
  }
}
