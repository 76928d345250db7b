/** Relays the engine's metrics: it listens on loopback, so nothing else can reach it. */
import type { Dispatcher } from 'undici';
import type { AdminAnswer } from '../../kit/admin-server.ts';
import type { Logger } from '../telemetry/log.ts';
import { fetchFromEngine } from '../upstream/engine-request.ts';
import { filterExposition } from './exposition.ts';

export interface EngineMetricsOptions {
  /** Connections to the engine. */
  pool: Pick<Dispatcher, 'request'>;
  path: string;
  /** Added to all series; names of Kubernetes objects, which need no quoting. */
  labels: { namespace: string; deployment: string; pod: string };
  log?: Pick<Logger, 'debug'>;
  timeoutMs?: number;
  maxBytes?: number;
  maxSeries?: number;
}

/** Prometheus' scrape timeout is 10 s by default, and it should learn that the engine hangs. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 8 * 1024 ** 2;
const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Always 200: without the engine's response there is only `berth_engine_up 0`. Concurrent callers share one request, so one
 * response is in memory.
 */
export function createEngineMetrics(options: EngineMetricsOptions): () => Promise<AdminAnswer> {
  let underway: Promise<AdminAnswer> | undefined;
  return () => {
    underway ??= describeEngine(options).finally(() => {
      underway = undefined;
    });
    return underway;
  };
}

async function describeEngine(options: EngineMetricsOptions): Promise<AdminAnswer> {
  const { labels, log, maxSeries } = options;
  let engine = { text: '', series: 0, dropped: 0 };
  let isUp = 0;
  try {
    engine = filterExposition(await fetchMetrics(options), { labels, maxSeries });
    isUp = 1;
  } catch (error) {
    log?.debug({ reason: (error as Error).message }, 'reading the metrics of the engine failed');
  }
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const writeGauge = (name: string, help: string, value: number) =>
    `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name}{${pairs.join(',')}} ${value}`;
  const lines = [
    writeGauge('berth_engine_up', '1 if the engine returned its metrics', isUp),
    writeGauge('berth_engine_dropped_lines', 'Lines of them that were invalid or too many', engine.dropped),
    engine.text,
  ];
  return { status: 200, body: lines.join('\n').trimEnd(), contentType: TYPE };
}

/** The engine's own metrics. Throws without a complete response in time. */
export async function fetchMetrics({
  pool,
  path,
  timeoutMs = TIMEOUT_MS,
  maxBytes = MAX_BYTES,
}: Pick<EngineMetricsOptions, 'pool' | 'path' | 'timeoutMs' | 'maxBytes'>): Promise<string> {
  const { status, body } = await fetchFromEngine(pool, {
    path,
    method: 'GET',
    headers: { accept: 'text/plain;version=0.0.4' },
    signal: AbortSignal.timeout(timeoutMs),
    maxBytes,
  });
  if (status !== 200) throw new Error(`status ${status}`);
  return body.toString();
}
