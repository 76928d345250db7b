/** Samples the queue depth of all deployments for their usage records, since those without a replica cannot. */
import { isRedisAway, type RedisClient } from '../../../redis/client.ts';
import { listDeployments } from '../../../redis/publication/published.ts';
import { countSample, SAMPLE_INTERVAL_MS, sampleQueueDepth } from '../../../redis/requests/queue-depth.ts';
import { addUsage } from '../../../redis/usage/usage.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { QueueGauges } from '../../telemetry/queue-gauges.ts';
import { Rounds } from './rounds.ts';

export interface QueueDepthSamplingOptions {
  redis: RedisClient;
  listWorkspaces: () => Promise<readonly string[]>;
  log: Logger;
  queues: QueueGauges;
}

/** Any number of fronts may sample. */
export const startQueueDepthSampling = ({
  redis,
  listWorkspaces,
  log,
  queues,
}: QueueDepthSamplingOptions): Rounds =>
  new Rounds({
    list: listWorkspaces,
    visit: async (namespace) => {
      const names = await listDeployments(redis, namespace);
      await Promise.all(
        names.map(async (deployment) => {
          const sample = await sampleQueueDepth(redis, namespace, deployment);
          if (!sample) return;
          queues.note({ namespace, name: deployment }, sample);
          const sums = new Map(countSample(sample));
          await addUsage(redis, { namespace, deployment, at: Date.now(), sums });
        }),
      );
      return false;
    },
    onError: (error, namespace) => {
      if (!isRedisAway(error)) log.error({ err: error, namespace }, 'queue depth sampling failed');
    },
    intervalMs: SAMPLE_INTERVAL_MS,
  });
