/** The metrics that Berth exports, according to its code. */
import { readFileSync } from 'node:fs';
import { createMetrics as createConsoleMetrics } from '../../console/server/http/metrics.ts';
import { createMetrics as createGatewayMetrics } from '../../gateway/telemetry/metrics.ts';
import { createMetrics as createOperatorMetrics } from '../../operator/metrics.ts';

const FAMILY = /^# TYPE (\S+) (\S+)$/gm;
/** Files with literal metric names. */
const RELAYED = ['gateway/sidecar/engine-metrics.ts', 'simulator/metrics.ts'];

/** Engines' own, of those on GPUs alone: the simulator lacks them. */
export const GPU_ENGINE_METRICS: readonly string[] = [
  'vllm:external_prefix_cache_hits_total',
  'vllm:kv_offload_cpu_cache_usage_perc',
  'sglang:cached_tokens_total',
  'sglang:hicache_host_used_tokens',
  'sglang:hicache_host_total_tokens',
];

/** Names of series, including the buckets, sum and count of histograms. */
export async function listMetricNames(): Promise<Set<string>> {
  const gateway = createGatewayMetrics();
  gateway.exportDemand(() => []);
  const operator = createOperatorMetrics();
  operator.watch({
    queues: () => [],
    watches: () => [],
    isLeading: () => false,
    isRedisUp: () => false,
    isQueueRefused: () => false,
    credentials: () => [],
    sidecars: () => ({ outdated: 0, excluded: 0, rolling: 0, failed: 0, isStopped: false }) as never,
    scaling: () => [],
    droppedEvents: () => 0,
    objects: () => null,
    redisMemory: () => null,
  });
  const texts = await Promise.all(
    [gateway, operator, createConsoleMetrics()].map((metrics) => metrics.render()),
  );
  const names = new Set<string>(GPU_ENGINE_METRICS);
  for (const [, name, type] of texts.join('\n').matchAll(FAMILY))
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      names.add(name! + suffix);
  for (const [name] of readFileSync(RELAYED[0]!, 'utf8').matchAll(/berth_engine_\w+/g)) names.add(name);
  for (const [, name] of readFileSync(RELAYED[1]!, 'utf8').matchAll(/\['(\w+)', '(?:gauge|counter)'/g))
    names.add(`vllm:${name}`);
  return names;
}

/** Names of series in a query, without labels. */
export function findMetricNames(expr: string): string[] {
  const withoutLabels = expr
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\b(by|on|without|group_left|group_right) \([^)]*\)/g, '');
  return withoutLabels.match(/\b(?:berth_|gen_ai_|nodejs_|process_|vllm:|sglang:)\w+/g) ?? [];
}
