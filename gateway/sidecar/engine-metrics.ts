/** Relays the engine's metrics: it listens on loopback, so nothing else can reach it. */
import { request } from 'undici';
import type { AdminAnswer } from '../../kit/admin-server.ts';
import { BodyTooLargeError, readBody } from '../../kit/bounded-body.ts';

export interface EngineMetricsOptions {
  url: string;
  timeoutMs?: number;
  maxBytes?: number;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 8 * 1024 ** 2;

/** Concurrent callers share one request, so one response is in memory. */
export function createEngineMetrics(options: EngineMetricsOptions): () => Promise<AdminAnswer> {
  let underway: Promise<AdminAnswer> | undefined;
  return () => {
    underway ??= fetchMetrics(options).finally(() => {
      underway = undefined;
    });
    return underway;
  };
}

async function fetchMetrics({
  url,
  timeoutMs = TIMEOUT_MS,
  maxBytes = MAX_BYTES,
}: EngineMetricsOptions): Promise<AdminAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await request(url, { headers: { accept: 'text/plain;version=0.0.4' }, signal });
    if (answer.statusCode !== 200) {
      // Its end is an error, which nobody waits for.
      answer.body.on('error', () => {}).destroy();
      return { status: 502, body: `the engine's metrics endpoint returned status ${answer.statusCode}` };
    }
    const body = (await readBody(answer.body, maxBytes)).toString().trimEnd();
    return { status: 200, body, contentType: 'text/plain; version=0.0.4; charset=utf-8' };
  } catch (error) {
    if (signal.aborted) return { status: 504, body: `the engine returned no metrics within ${timeoutMs} ms` };
    if (error instanceof BodyTooLargeError)
      return { status: 502, body: `the engine's metrics are larger than ${maxBytes} bytes` };
    return { status: 503, body: 'could not connect to the engine' };
  }
}
