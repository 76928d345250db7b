/** Record of requests to the engine, for the control port. */
import type { IncomingHttpHeaders } from 'node:http';

export interface RecordedCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export interface RecentCall {
  /** Unix milliseconds. */
  at: number;
  method: string;
  path: string;
  /** First characters of the prompt, where there is one. */
  prompt?: string;
}

const MAX_RECENT = 1000;
const PROMPT_CHARACTERS = 100;

export class Activity {
  /** A gauge: survives a reset. */
  inflight = 0;
  requests = 0;
  aborted = 0;
  last: RecordedCall | null = null;
  recent: RecentCall[] = [];
  /** When the last output was sent, of performance.now(). */
  outputAt = Number.NEGATIVE_INFINITY;
  /** For /metrics, which counts from the start of the process. */
  readonly totals = { answered: 0, promptTokens: 0, completionTokens: 0 };

  /** Counts one more in flight, until the returned function is called. */
  enter(): () => void {
    let isIn = true;
    this.inflight++;
    return () => {
      if (isIn) this.inflight--;
      isIn = false;
    };
  }

  record(call: RecordedCall, prompt: string | undefined): void {
    this.requests++;
    this.last = call;
    this.recent.push({
      at: Date.now(),
      method: call.method,
      path: call.path,
      ...(prompt === undefined ? {} : { prompt: copyStart(prompt) }),
    });
    if (this.recent.length > MAX_RECENT) this.recent.shift();
  }

  reset(): void {
    this.requests = 0;
    this.aborted = 0;
    this.last = null;
    this.recent = [];
  }
}

/** A real copy: a slice would keep the whole prompt in memory. */
const copyStart = (text: string): string =>
  text.length <= PROMPT_CHARACTERS
    ? text
    : Buffer.from(text.slice(0, PROMPT_CHARACTERS), 'utf16le').toString('utf16le');
