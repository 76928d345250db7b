/** A front's background work, shared by any number of fronts: lost requests, ended batches, old objects, queue depth. */
import type { RedisConnection } from '../../../redis/client.ts';
import { createExpiryGate } from '../../../redis/requests/request-sweep.ts';
import { forgetSwept, listSweptWorkspaces } from '../../../redis/workspaces/swept-workspaces.ts';
import type { StorageServices } from '../../jobs/services.ts';
import type { Stores } from '../../storage/stores.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { GatewayMetrics } from '../../telemetry/metrics.ts';
import { startBatchCloser } from './batch-closer.ts';
import { Cleaner } from './cleaner.ts';
import { startQueueDepthSampling } from './queue-depth-sampling.ts';
import { startSweeper } from './sweeper.ts';

export interface HousekeepingOptions {
  connection: RedisConnection;
  stores: Pick<Stores, 'find'>;
  /** Absent: batches are ended by replicas alone. */
  storage?: StorageServices;
  log: Logger;
  metrics: Pick<GatewayMetrics, 'cleanedObjects' | 'sweptRequests' | 'queues'>;
}

export interface Housekeeping {
  /** Resolves when the steps in progress have ended. */
  close(): Promise<void>;
}

export function startHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { connection, stores, storage, log, metrics } = options;
  const { redis } = connection;
  const gate = createExpiryGate();
  const stopListening = connection.onStateChange(() => gate.reset());
  const listWorkspaces = () => listSweptWorkspaces(redis);
  const sweeper = startSweeper({
    redis,
    gate,
    listWorkspaces,
    onSwept: async (namespace, { ended, released, forgotten }) => {
      metrics.sweptRequests.inc({ outcome: 'ended' }, ended);
      metrics.sweptRequests.inc({ outcome: 'released' }, released);
      metrics.sweptRequests.inc({ outcome: 'forgotten' }, forgotten);
      await forgetSwept(redis, namespace);
    },
    log,
  });
  const cleaner = new Cleaner({
    redis,
    stores,
    listWorkspaces,
    onObject: (outcome) => metrics.cleanedObjects.inc({ outcome }),
    log,
  });
  const sampling = startQueueDepthSampling({ redis, listWorkspaces, log, queues: metrics.queues });
  const batches = storage && startBatchCloser({ redis, storage, listWorkspaces, log });
  return {
    close: async () => {
      stopListening();
      await Promise.all([sweeper.close(), cleaner.close(), sampling.close(), batches?.close()]);
    },
  };
}
