/** What a front has to do with deployments that scale to zero: it wakes them, and holds their requests until they are ready. */

import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { publishWake, sayShare } from '../../redis/demand/demand.ts';
import type { Logger } from '../telemetry/log.ts';
import type { HoldLimits } from './demand/hold-line.ts';
import { HoldLines } from './demand/hold-lines.ts';
import { Wants } from './demand/wants.ts';
import type { Directory } from './directory.ts';
import { StartTimes } from './start-times.ts';

export interface ColdStarts {
  wants: Wants;
  lines: HoldLines;
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
  const wants = new Wants({
    front: podName,
    say: (deployment, share) => sayShare(redis, deployment, share),
    wake: (deployment) => publishWake(redis, deployment),
    isServed: async ({ namespace, name }) => {
      const known = await directory.find(namespace, name);
      if (known) starts.observe(known);
      // What was published, a replica or a pause, may not have been heard.
      lines.wake({ namespace, name });
      return known !== null && known.addresses.length > 0;
    },
    onLapse: (deployment) => starts.lapse(deployment),
    onError: (error) => {
      if (!isRedisAway(error)) log.warn({ err: error }, 'the demand for a deployment could not be written');
    },
  });
  const lines = new HoldLines({
    limits,
    find: async ({ namespace, name }) => directory.find(namespace, name),
    wants,
  });
  return {
    wants,
    lines,
    starts,
    close: () => {
      lines.close();
      wants.close();
    },
  };
}
