/** Keeps LoRA adapters loaded in the engine: after each of its starts, and when they change. The engine forgets them when it ends. */
import type { Dispatcher } from 'undici';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { isObject } from '../../kit/json.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import { type Backoff, exponentialDelay } from '../../kit/retry.ts';
import type { Logger } from '../telemetry/log.ts';
import { fetchFromEngine } from '../upstream/engine-request.ts';

export interface WantedAdapter {
  name: string;
  /** The engine's own name of it, which changes with its source. */
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
/** While the engine refuses an adapter. */
const RETRY = { baseMs: 5_000, maxMs: 60_000 };
/** An adapter that ends the engine would end it after each of its starts. */
const RETRY_AFTER_END = { baseMs: 5_000, maxMs: 600_000 };
const ENDED = 'the engine ended, or failed its health check, while it loaded the adapter';
/** An adapter may lie on a slow volume. */
const LOAD_TIMEOUT_MS = 120_000;
/** From the engine's start on, its pod waits so long for its adapters. */
const MAX_START_MS = 60_000;
/** Requests that know a name only from before may come for so long. */
const KEPT_MS = 600_000;
const LIST_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** As JSON. With them a heartbeat is within the 1 KiB that Redis takes. */
const MAX_WORDS_BYTES = 560;

interface Failure {
  /** The engine's own, or `ENDED`. */
  words: string;
  attempts: number;
  retryAt: number;
}

export class AdapterLoader {
  readonly #options: AdapterLoaderOptions;
  readonly #clock: Clock;
  readonly #task: PeriodicTask;
  /** Engine names, and since when each is unwanted; null: it is wanted. */
  #loaded = new Map<string, number | null>();
  #failures = new Map<string, Failure>();
  #loading = new Set<string>();
  #syncing: Promise<void> | null = null;
  /** The engine name that each adapter was last loaded by. */
  readonly #current = new Map<string, string>();
  /** Counts the engine's ends: what was asked before one says nothing. */
  #life = 0;
  /** When the pod waits no longer for what its engine has to load first. */
  #startedBy = 0;

  constructor(options: AdapterLoaderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
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
    return this.#failures.get(engineName)?.words;
  }

  /** The name by which the engine has the adapter: an earlier source's until the current one is loaded; undefined: it has none. */
  loadedNameOf(name: string, engineName: string): string | undefined {
    return [engineName, this.#current.get(name)].find((each) => each !== undefined && this.isLoaded(each));
  }

  /** Whether the engine has just started, and has not yet loaded or refused each of its adapters. */
  get isStarting(): boolean {
    if (this.#clock.now() >= this.#startedBy) return false;
    const isTried = ({ engineName }: WantedAdapter) =>
      this.#loaded.has(engineName) || this.#failures.has(engineName);
    const isStarting = this.#options.isEngineReady() && !this.#options.list().every(isTried);
    // Those that are added later keep no pod from its requests.
    if (!isStarting) this.#startedBy = 0;
    return isStarting;
  }

  /** The engine is ready. */
  start(): void {
    this.#startedBy = this.#clock.now() + MAX_START_MS;
    void this.sync();
  }

  /** The engine is not ready: it may have ended. */
  forget(): void {
    this.#life++;
    this.#loaded = new Map();
    const suspects = new Map([...this.#failures].filter(([, { words }]) => words === ENDED));
    for (const engineName of this.#loading)
      suspects.set(engineName, this.#fail(engineName, ENDED, RETRY_AFTER_END));
    this.#failures = suspects;
    this.#loading = new Set();
    this.#syncing = null;
    this.#options.onChange();
  }

  /** Begins to load what is missing, and unloads what is long unwanted. Resolves when that has been asked for. Once at a time. */
  sync(): Promise<void> {
    if (this.#syncing) return this.#syncing;
    const syncing = this.#sync().finally(() => {
      if (this.#syncing === syncing) this.#syncing = null;
    });
    this.#syncing = syncing;
    return syncing;
  }

  async #sync(): Promise<void> {
    const { isEngineReady, list } = this.#options;
    if (!isEngineReady() || (list().length === 0 && this.#loaded.size === 0)) return;
    const life = this.#life;
    const before = new Map(this.#loaded);
    const present = await this.#listPresent();
    if (!present || life !== this.#life) return;
    // What is wanted by now, so that no change waits for the next turn.
    const wanted = list();
    // An earlier source answers for as long as the engine has not loaded the wanted one.
    const kept = new Set(
      wanted.flatMap(({ name, engineName }) => [engineName, this.loadedNameOf(name, engineName)]),
    );
    for (const [engineName, unwantedSince] of before) {
      const isPresent = present.has(engineName);
      if (kept.has(engineName)) {
        if (!isPresent) this.#lose(engineName);
      } else if (isPresent) this.#release(engineName, unwantedSince);
      else this.#loaded.delete(engineName);
    }
    // The engine seemed to have ended, and had not.
    for (const [name, engineName] of this.#current)
      if (present.has(engineName) && !this.#loaded.has(engineName)) this.#note({ name, engineName }, null);
      else if (!this.#loaded.has(engineName) && !wanted.some((adapter) => adapter.name === name))
        this.#current.delete(name);
    for (const adapter of wanted)
      if (present.has(adapter.engineName)) this.#note(adapter, null);
      else if (this.#isDue(adapter.engineName)) void this.#load(adapter);
  }

  stop(): void {
    void this.#task.stop();
  }

  #isDue(engineName: string): boolean {
    const failure = this.#failures.get(engineName);
    if (this.#loaded.has(engineName) || this.#loading.has(engineName)) return false;
    return !failure || this.#clock.now() >= failure.retryAt;
  }

  async #load(adapter: WantedAdapter): Promise<void> {
    const { engineName, path } = adapter;
    const life = this.#life;
    this.#loading.add(engineName);
    const failure = await this.#post('load', { lora_name: engineName, lora_path: path });
    if (life !== this.#life) return;
    this.#loading.delete(engineName);
    this.#note(adapter, failure);
  }

  /** `words` null: it is loaded. */
  #note({ name, engineName }: Pick<WantedAdapter, 'name' | 'engineName'>, words: string | null): void {
    const { log, onChange } = this.#options;
    const before = this.#failures.get(engineName);
    if (words === null) {
      const isNew = !this.#loaded.has(engineName);
      this.#loaded.set(engineName, null);
      this.#failures.delete(engineName);
      this.#current.set(name, engineName);
      if (!isNew) return;
      log.info({ adapter: engineName }, 'adapter loaded');
    } else {
      this.#failures.set(engineName, this.#fail(engineName, words, RETRY));
      if (words === before?.words) return;
      log.warn({ adapter: engineName, reason: words }, 'the engine did not load the adapter');
    }
    onChange();
  }

  #fail(engineName: string, words: string, backoff: Backoff): Failure {
    const attempts = (this.#failures.get(engineName)?.attempts ?? 0) + 1;
    return { words, attempts, retryAt: this.#clock.now() + exponentialDelay(backoff, attempts) };
  }

  /** It is loaded again at once if it is wanted. */
  #lose(engineName: string): void {
    this.#loaded.delete(engineName);
    this.#options.log.warn({ adapter: engineName }, 'the engine lost the adapter');
    this.#options.onChange();
  }

  /** The next list of what is present says whether the engine did it; if not, it is asked again after as long. */
  #release(engineName: string, unwantedSince: number | null): void {
    const now = this.#clock.now();
    if (unwantedSince !== null && now - unwantedSince < KEPT_MS) return;
    this.#loaded.set(engineName, now);
    if (unwantedSince !== null) void this.#post('unload', { lora_name: engineName });
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
      return shorten((error as Error).message);
    }
  }
}

function shorten(words: string): string {
  let short = words.slice(0, MAX_WORDS_BYTES);
  while (Buffer.byteLength(JSON.stringify(short)) > MAX_WORDS_BYTES) short = short.slice(0, -16);
  return short;
}

function readWords(status: number, text: string): string {
  const words = readMessage(text) ?? text;
  return shorten(words.trim() || `status ${status}`);
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
