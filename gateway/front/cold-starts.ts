/** Scale to zero at a front: it wakes deployments, and holds their requests until they are ready. */

import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { publishWake, sayShare } from '../../redis/demand/demand.ts';
import type { Logger } from '../telemetry/log.ts';
import type { HoldLimits } from './demand/hold-queue.ts';
import { HoldQueues } from './demand/hold-queues.ts';
import { ReplicaDemand } from './demand/replica-demand.ts';
import type { Directory } from './directory.ts';
import { StartTimes } from './start-times.ts';

export interface ColdStarts {
  replicaDemand: ReplicaDemand;
  queues: HoldQueues;
  starts: StartTimes;
  /** Ends all holds, and holds no more. */
  close(): void;
}

export interface ColdStartsOptions {
  podName: string;
  redis: RedisClient;
  directory: Directory;
  limits: HoldLimits;
  log: Logger;
}

export function openColdStarts({ podName, redis, directory, limits, log }: ColdStartsOptions): ColdStarts {
  const starts = new StartTimes();
  const replicaDemand = new ReplicaDemand({
    front: podName,
    publish: (deployment, share) => sayShare(redis, deployment, share),
    wake: (deployment) => publishWake(redis, deployment),
    isServed: async ({ namespace, name }) => {
      const known = await directory.find(namespace, name);
      if (known) starts.observe(known);
      // A published replica or pause may have been missed.
      queues.wake({ namespace, name });
      return known !== null && known.addresses.length > 0;
    },
    onExpire: (deployment) => starts.lapse(deployment),
    onError: (error) => {
      if (!isRedisAway(error)) log.warn({ err: error }, 'the demand for a deployment could not be written');
    },
  });
  const queues = new HoldQueues({
    limits,
    find: async ({ namespace, name }) => directory.find(namespace, name),
    replicaDemand,
  });
  return {
    replicaDemand,
    queues,
    starts,
    close: () => {
      queues.close();
      replicaDemand.close();
    },
  };
}
