/** Depth and age of each deployment's queue, as last sampled by one of the gateways. */
import { Gauge, type Registry } from 'prom-client';
import type { QueueSample } from '../../redis/requests/queue-depth.ts';

export interface QueueGauges {
  note(deployment: { namespace: string; name: string }, sample: QueueSample): void;
}

/** Two sampling intervals: what another gateway samples now is no longer reported here. */
const MAX_AGE_MS = 20_000;

export function createQueueGauges(register: Registry, now = () => performance.now()): QueueGauges {
  const samples = new Map<string, QueueSample & { labels: Record<string, string>; at: number }>();
  const exportGauge = (name: string, help: string, read: (sample: QueueSample) => number) =>
    new Gauge<string>({
      name,
      help,
      labelNames: ['namespace', 'deployment'],
      registers: [register],
      collect() {
        this.reset();
        for (const [key, sample] of samples)
          if (now() - sample.at > MAX_AGE_MS) samples.delete(key);
          else this.set(sample.labels, read(sample));
      },
    });
  exportGauge('berth_queue_waiting', 'Queued requests that are waiting', ({ waiting }) => waiting);
  exportGauge(
    'berth_queue_oldest_seconds',
    'How long the oldest queued request has waited',
    ({ oldestMs }) => oldestMs / 1_000,
  );
  return {
    note({ namespace, name }, sample) {
      const labels = { namespace, deployment: name };
      samples.set(`${namespace}/${name}`, { ...sample, labels, at: now() });
    },
  };
}
