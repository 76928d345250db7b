/** The state of one simulated engine. */
import { Activity } from './activity.ts';
import { type Personality, personalityOf } from './personality.ts';
import { PrefixCache } from './prefix-cache.ts';
import { type Settings, SettingsStore } from './settings.ts';
import { Slots } from './slots.ts';
import { Permits } from './tei.ts';
import { VideoJobs } from './video-jobs.ts';

export const KINDS = ['LLM', 'Embedding', 'Rerank', 'Image', 'Video', 'Transcription', 'Speech'] as const;
export type Kind = (typeof KINDS)[number];

export interface EngineOptions {
  /** The id that `model` must have. */
  model: string;
  kind: Kind;
  /** How long the engine returns 503 to everything. */
  startupSeconds: number;
  /** Whether adapters can be loaded at run time. */
  hasAdapters?: boolean;
  /** Whether it has vLLM's sleep mode. */
  sleepMode?: boolean;
  settings: Settings;
  /** Ends the process, for the fault `exit`. */
  exit: () => void;
}

export class Engine {
  readonly options: EngineOptions;
  readonly settings: SettingsStore;
  readonly activity = new Activity();
  readonly slots: Slots;
  readonly permits = new Permits();
  readonly jobs: VideoJobs;
  /** Unix seconds. */
  readonly created = Math.floor(Date.now() / 1000);
  /** Aborted when SIGTERM has come and calls in flight do not end as they would. */
  readonly stopping = new AbortController();
  /** After SIGTERM, it keeps serving until nothing is in flight. */
  isDraining = false;
  isAsleep = false;
  /** It was put to sleep while it worked. */
  isDead = false;
  /** Paths of the loaded LoRA adapters, by name. */
  readonly adapters = new Map<string, string>();
  readonly cache: PrefixCache;
  readonly #readyAt: number;
  /** When the prompts so far are computed, of performance.now(). */
  #prefilledAt = 0;
  #aborted = 0;

  constructor(options: EngineOptions) {
    this.options = options;
    this.settings = new SettingsStore(options.settings);
    this.slots = new Slots(() => this.settings.current.maxConcurrency);
    this.jobs = new VideoJobs({ slots: this.slots, activity: this.activity, exit: options.exit });
    this.cache = new PrefixCache(() => this.settings.current.cacheTokens);
    this.settings.onChange(() => this.slots.admit());
    this.#readyAt = performance.now() + options.startupSeconds * 1000;
  }

  /** Milliseconds to the first token of a call with so many tokens to compute: prompts are computed one after the other. */
  beginPrefill(tokens: number): number {
    const { ttftMs, prefillMs } = this.settings.current;
    const now = performance.now();
    this.#prefilledAt = Math.max(now, this.#prefilledAt) + tokens * prefillMs;
    return ttftMs + this.#prefilledAt - now;
  }

  /** How many calls were aborted so before. */
  countAborted(): number {
    return this.#aborted++;
  }

  get personality(): Personality {
    return personalityOf(this.settings.current.like);
  }

  /** It was stopped, and sends nothing more to the calls that it keeps. */
  get isHanging(): boolean {
    return this.stopping.signal.aborted && this.personality.atSIGTERM === 'hang';
  }

  get isLoaded(): boolean {
    return performance.now() >= this.#readyAt;
  }

  get isHealthy(): boolean {
    return this.isLoaded && !this.isDead && this.settings.current.healthy;
  }
}
