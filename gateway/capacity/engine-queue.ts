/** Requests queued within the engine, and its KV cache, from its own metrics: it may be full long before its slots are taken. */
import type { Clock } from '../../kit/clock.ts';
import { PeriodicTask } from '../../kit/periodic-task.ts';
import { readCount } from '../upstream/reported-count.ts';

export interface EngineQueueOptions {
  /** The engine's metrics as text; rejects without a complete response in time. */
  read: () => Promise<string>;
  /** Requests that have a slot on the engine. */
  inflight: () => number;
  clock?: Clock;
}

const INTERVAL_MS = 3_000;
/** A queue in all of these samples persists: simultaneous long prompts only wait for each other briefly. */
const READINGS = 3;

export class EngineQueue {
  readonly #options: EngineQueueOptions;
  readonly #task: PeriodicTask;
  /** Shares of the engine's requests that were queued, the latest last. */
  #shares: number[] = [];
  /** Percent in use; null: unknown. */
  #cacheUse: number | null = null;
  /** At the last reading; null: unknown. */
  #running: number | null = null;

  constructor(options: EngineQueueOptions) {
    this.#options = options;
    this.#task = new PeriodicTask({
      run: () => this.#read(),
      intervalMs: INTERVAL_MS,
      onError: () => {
        this.#shares = [];
        this.#cacheUse = null;
        this.#running = null;
      },
      clock: options.clock,
    });
    this.#task.start();
  }

  /**
   * How many of the requests in flight have been queued within the engine all the time, fewer than all; 0 if none ever was;
   * null if that changes, or the engine does not report it.
   */
  get waiting(): number | null {
    const inflight = this.#options.inflight();
    if (this.#shares.length < READINGS || inflight <= 1) return null;
    if (Math.max(...this.#shares) === 0) return 0;
    // In requests of the gateway: an engine counts each choice of an answer.
    return Math.min(inflight - 1, Math.round(Math.min(...this.#shares) * inflight)) || null;
  }

  /** How many of the requests in flight ran at the last reading; null: not reported, or no two requests are in flight. */
  get running(): number | null {
    const inflight = this.#options.inflight();
    // An engine counts each choice of an answer.
    return inflight > 1 && this.#running !== null ? Math.min(this.#running, inflight) : null;
  }

  /** Percent of the KV cache in use; null: not reported, or no two requests are in flight. */
  get cacheUse(): number | null {
    return this.#options.inflight() > 1 ? this.#cacheUse : null;
  }

  /** Without waiting for the engine, which may hang. */
  close(): void {
    void this.#task.stop();
  }

  /** A single request waits for no other. */
  async #read(): Promise<void> {
    const text = this.#options.inflight() > 1 ? await this.#options.read() : '';
    const share = readWaitingShare(text);
    this.#cacheUse = readCacheUse(text);
    this.#running = readRunning(text);
    this.#shares = share === null ? [] : [...this.#shares, share].slice(-READINGS);
  }
}

/**
 * Gauges of engines that count requests. Not TEI's te_queue_size: it counts inputs, each until the next batch, so that an
 * engine that is merely busy has some.
 */
const GAUGES = [
  { waiting: 'vllm:num_requests_waiting', running: 'vllm:num_requests_running' },
  { waiting: 'sglang:num_queue_reqs', running: 'sglang:num_running_reqs' },
  { waiting: 'llamacpp:requests_deferred', running: 'llamacpp:requests_processing' },
];
/** One per rank of an engine with several. */
const MAX_SERIES = 1_024;
const MAX_LINE_LENGTH = 4_096;

/** The share of its requests that an engine has queued, from its metrics in Prometheus' text format; null if not reported. */
export function readWaitingShare(text: string): number | null {
  for (const { waiting, running } of GAUGES) {
    const [queued, active] = [sumGauge(text, waiting), sumGauge(text, running)];
    if (queued === null || active === null) continue;
    return queued === 0 ? 0 : queued / (queued + active);
  }
  return null;
}

/** How many requests run, from an engine's metrics; null if not reported. */
export function readRunning(text: string): number | null {
  for (const { running } of GAUGES) {
    const count = sumGauge(text, running);
    if (count !== null) return count;
  }
  return null;
}

/** Shares of a KV cache. */
const CACHE_GAUGES = ['vllm:kv_cache_usage_perc', 'sglang:token_usage'];

/** Percent of the KV cache in use, that of the fullest rank; null if not reported. */
export function readCacheUse(text: string): number | null {
  const shares = CACHE_GAUGES.flatMap((name) => listSamples(text, name)).filter((share) => share <= 1);
  return shares.length > 0 ? Math.round(100 * Math.max(...shares)) : null;
}

function sumGauge(text: string, name: string): number | null {
  const counts = listSamples(text, name).flatMap((value) => readCount(value) ?? []);
  return counts.length > 0 ? counts.reduce((sum, count) => sum + count, 0) : null;
}

/** Values from 0 on, one per series. */
function listSamples(text: string, name: string): number[] {
  const values: number[] = [];
  for (let at = text.indexOf(name); at >= 0 && values.length < MAX_SERIES; at = text.indexOf(name, at + 1)) {
    if (at > 0 && text[at - 1] !== '\n') continue;
    const end = text.indexOf('\n', at);
    const value = readSample(text.slice(at + name.length, end < 0 ? undefined : end));
    if (value >= 0) values.push(value);
  }
  return values;
}

/** Parses what follows a name: optional labels, the value, an optional timestamp. NaN for another name or no number. */
function readSample(rest: string): number {
  if (rest.length > MAX_LINE_LENGTH || !/^[{ \t]/.test(rest)) return Number.NaN;
  const [value] = rest
    .slice(rest.lastIndexOf('}') + 1)
    .trim()
    .split(/\s+/);
  return Number(value || Number.NaN);
}
