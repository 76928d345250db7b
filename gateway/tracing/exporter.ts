/** Sends spans to an OTLP receiver: in batches, from a bounded queue, best effort. */
import { readBodyStart } from '../../kit/bounded-body.ts';
import type { Logger } from '../../kit/log.ts';
import { exponentialDelay } from '../../kit/retry.ts';
import { encodeSpans, type SpanRecord } from './otlp.ts';

export interface TracerOptions {
  /** Attributes that all spans have in common. */
  resource: Readonly<Record<string, string>>;
  log: Logger;
  /** Counts spans that were exported, or dropped because the queue was full or they were refused. */
  onSpans: (outcome: 'exported' | 'dropped', count: number) => void;
}

export interface ExporterTiming {
  /** Batching time. */
  intervalMs: number;
  /** The first delay after a failure; each next is twice as long. */
  retryMs: number;
  timeoutMs: number;
  /** Time limit of the final export. */
  closeMs: number;
}

const TIMING: ExporterTiming = { intervalMs: 1_000, retryMs: 1_000, timeoutMs: 10_000, closeMs: 1_000 };
const MAX_RETRY_MS = 30_000;
/** Some megabytes. */
export const MAX_QUEUED_SPANS = 4_096;
const BATCH_SPANS = 256;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Transient, by the protocol. */
const TRANSIENT = new Set([429, 502, 503, 504]);

export class SpanExporter {
  readonly #url: string;
  readonly #options: TracerOptions;
  readonly #timing: ExporterTiming;
  readonly #closing = new AbortController();
  #queue: SpanRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(endpoint: string, options: TracerOptions, timing: Partial<ExporterTiming> = {}) {
    this.#url = `${endpoint}/v1/traces`;
    this.#options = options;
    this.#timing = { ...TIMING, ...timing };
  }

  /** All or none: half a trace is misleading. */
  add(spans: readonly SpanRecord[]): void {
    if (this.#queue.length + spans.length > MAX_QUEUED_SPANS) {
      this.#options.onSpans('dropped', spans.length);
      return;
    }
    this.#queue.push(...spans);
    this.#schedule(this.#timing.intervalMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#closing.abort(), this.#timing.closeMs);
    await this.#sending;
    await this.#send();
    clearTimeout(timer);
    this.#closing.abort();
    if (this.#queue.length > 0) this.#options.onSpans('dropped', this.#queue.length);
    this.#queue = [];
  }

  #schedule(ms: number): void {
    if (this.#timer || this.#sending || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#send().finally(() => {
        this.#sending = null;
        if (this.#queue.length > 0) this.#schedule(this.#waitMs());
      });
    }, ms);
    this.#timer.unref();
  }

  #waitMs(): number {
    const { intervalMs, retryMs } = this.#timing;
    const backoff = { baseMs: retryMs, maxMs: MAX_RETRY_MS };
    return this.#failures === 0 ? intervalMs : exponentialDelay(backoff, this.#failures);
  }

  /** Until the queue is empty or a batch fails, which stays queued if the failure may be transient. */
  async #send(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH_SPANS);
      const problem = await this.#post(batch);
      this.#note(problem);
      if (problem?.mayPass) return;
      this.#queue = this.#queue.slice(batch.length);
      const dropped = problem ? Math.min(problem.rejected ?? batch.length, batch.length) : 0;
      if (dropped > 0) this.#options.onSpans('dropped', dropped);
      if (dropped < batch.length) this.#options.onSpans('exported', batch.length - dropped);
    }
  }

  /** null: accepted. */
  async #post(batch: readonly SpanRecord[]): Promise<Problem | null> {
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: encodeSpans(batch, this.#options.resource),
        // A redirected POST may become a GET of a page, whose 200 would look like success.
        redirect: 'manual',
        signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(this.#timing.timeoutMs)]),
      });
      const rejected = await readRejected(response);
      if (response.ok)
        return rejected > 0 ? { mayPass: false, reason: `it rejected ${rejected} spans`, rejected } : null;
      return { mayPass: TRANSIENT.has(response.status), reason: `receiver returned ${response.status}` };
    } catch (error) {
      const { message, cause } = error as Error;
      return { mayPass: true, reason: cause instanceof Error ? cause.message : message };
    }
  }

  /** Logs when exports start to fail and when they recover. */
  #note(problem: Problem | null): void {
    const { log } = this.#options;
    if (problem && this.#failures === 0) log.warn({ reason: problem.reason }, 'trace receiver rejects spans');
    if (!problem && this.#failures > 0) log.info('trace receiver accepts spans again');
    this.#failures = problem ? this.#failures + 1 : 0;
  }
}

interface Problem {
  mayPass: boolean;
  reason: string;
  /** All if absent. */
  rejected?: number;
}

/** 0 if the response reports none. It is read to its end, so that the connection can be reused. */
async function readRejected({ body }: Response): Promise<number> {
  const start = body ? await readBodyStart(body, MAX_ANSWER_BYTES) : '';
  try {
    return Math.max(0, Number(JSON.parse(String(start)).partialSuccess?.rejectedSpans) || 0);
  } catch {
    return 0;
  }
}
