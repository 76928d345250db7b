/** Keeps LoRA adapters loaded in the engine: after each of its starts, and when they change. The engine forgets them when it ends. */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../kit/clock.ts';
import { isObject } from '../../kit/json.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import type { Logger } from '../telemetry/log.ts';
import { fetchFromEngine } from '../upstream/engine-request.ts';

export interface WantedAdapter {
  /** The engine's own name of it, which changes with its files. */
  engineName: string;
  path: string;
}

export interface AdapterLoaderOptions {
  pool: () => Pick<Dispatcher, 'request'>;
  isEngineReady: () => boolean;
  list: () => readonly WantedAdapter[];
  /** One was loaded, lost or refused. */
  onChange: () => void;
  log: Pick<Logger, 'info' | 'warn'>;
  clock?: Clock;
}

/** An engine that restarted unnoticed, and files that are still downloaded. */
const CHECK_INTERVAL_MS = 5_000;
/** An adapter may lie on a slow volume. */
const LOAD_TIMEOUT_MS = 120_000;
const LIST_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_WORDS = 500;

export class AdapterLoader {
  readonly #options: AdapterLoaderOptions;
  readonly #task: PeriodicTask;
  #loaded = new Set<string>();
  #failures = new Map<string, string>();
  /** Counts the engine's ends: what was asked before one says nothing. */
  #life = 0;
  #syncing: Promise<void> | null = null;
  #isStale = false;

  constructor(options: AdapterLoaderOptions) {
    this.#options = options;
    this.#task = new PeriodicTask({
      run: () => this.sync(),
      intervalMs: CHECK_INTERVAL_MS,
      onError: (error) => options.log.warn({ err: error }, 'adapters could not be checked'),
      clock: options.clock,
    });
    this.#task.start(CHECK_INTERVAL_MS);
  }

  isLoaded(engineName: string): boolean {
    return this.#loaded.has(engineName);
  }

  /** Why the engine did not load it, in its own words. */
  failureOf(engineName: string): string | undefined {
    return this.#failures.get(engineName);
  }

  /** The engine is not ready: it may have ended. */
  forget(): void {
    this.#life++;
    this.#loaded = new Set();
    this.#failures = new Map();
    this.#options.onChange();
  }

  /** Loads what is missing and unloads what is no longer wanted; a call meanwhile triggers one more. */
  sync(): Promise<void> {
    this.#isStale = true;
    this.#syncing ??= this.#syncUntilFresh();
    return this.#syncing;
  }

  stop(): void {
    void this.#task.stop();
  }

  async #syncUntilFresh(): Promise<void> {
    try {
      do {
        this.#isStale = false;
        await this.#syncOnce();
      } while (this.#isStale);
    } finally {
      this.#syncing = null;
    }
  }

  async #syncOnce(): Promise<void> {
    const { isEngineReady, list, log } = this.#options;
    const wanted = list();
    if (!isEngineReady() || (wanted.length === 0 && this.#loaded.size === 0)) return;
    const life = this.#life;
    const present = await this.#listPresent();
    if (!present || life !== this.#life) return;
    const names = new Set(wanted.map(({ engineName }) => engineName));
    for (const engineName of this.#loaded)
      if (!names.has(engineName)) await this.#unload(engineName, life);
      else if (!present.has(engineName)) this.#note(life, engineName, 'the engine lost it');
    for (const { engineName, path } of wanted) {
      if (present.has(engineName)) {
        this.#note(life, engineName, null);
        continue;
      }
      const failure = await this.#post('load', { lora_name: engineName, lora_path: path });
      if (life !== this.#life) return;
      if (failure === null) log.info({ adapter: engineName }, 'adapter loaded');
      else if (failure !== this.failureOf(engineName))
        log.warn({ adapter: engineName, reason: failure }, 'the engine did not load the adapter');
      this.#note(life, engineName, failure);
    }
  }

  /** `failure` null: it is loaded. */
  #note(life: number, engineName: string, failure: string | null): void {
    if (life !== this.#life) return;
    const isSame =
      this.isLoaded(engineName) === (failure === null) &&
      this.failureOf(engineName) === (failure ?? undefined);
    if (isSame) return;
    if (failure === null) {
      this.#loaded.add(engineName);
      this.#failures.delete(engineName);
    } else {
      this.#loaded.delete(engineName);
      this.#failures.set(engineName, failure);
    }
    this.#options.onChange();
  }

  /** Nobody asks for it anymore, so a failure matters only for the engine's memory. */
  async #unload(engineName: string, life: number): Promise<void> {
    const failure = await this.#post('unload', { lora_name: engineName });
    if (life !== this.#life) return;
    this.#loaded.delete(engineName);
    const { log } = this.#options;
    if (failure === null) log.info({ adapter: engineName }, 'adapter unloaded');
    else log.warn({ adapter: engineName, reason: failure }, 'the engine did not unload the adapter');
  }

  /** Names of the adapters in the engine; undefined if it does not say. */
  async #listPresent(): Promise<Set<string> | undefined> {
    try {
      const { status, body } = await fetchFromEngine(this.#options.pool(), {
        path: '/v1/models',
        method: 'GET',
        signal: AbortSignal.timeout(LIST_TIMEOUT_MS),
        maxBytes: MAX_ANSWER_BYTES,
      });
      const answer: unknown = status === 200 ? JSON.parse(body.toString('utf8')) : null;
      if (!isObject(answer) || !Array.isArray(answer.data)) return undefined;
      // What has no parent is the base.
      const adapters = answer.data.filter((model) => isObject(model) && typeof model.parent === 'string');
      return new Set(adapters.map(({ id }) => String(id)));
    } catch {
      return undefined;
    }
  }

  /** Null if it succeeded, else why not. */
  async #post(action: 'load' | 'unload', fields: object): Promise<string | null> {
    try {
      const { status, body } = await fetchFromEngine(this.#options.pool(), {
        path: `/v1/${action}_lora_adapter`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(fields)),
        signal: AbortSignal.timeout(LOAD_TIMEOUT_MS),
        maxBytes: MAX_ANSWER_BYTES,
      });
      return status === 200 ? null : readWords(status, body.toString('utf8'));
    } catch (error) {
      return (error as Error).message;
    }
  }
}

function readWords(status: number, text: string): string {
  const words = readMessage(text) ?? text;
  return (words.trim() || `status ${status}`).slice(0, MAX_WORDS);
}

function readMessage(text: string): string | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    if (!isObject(answer)) return undefined;
    const message = isObject(answer.error) ? answer.error.message : (answer.message ?? answer.detail);
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
