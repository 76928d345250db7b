/** A front's work between requests, shared by any number of fronts: the end of lost requests, the removal of objects. */
import type { RedisConnection } from '../../redis/client.ts';
import { readWorkspaces } from '../../redis/published.ts';
import { createExpiryGate } from '../../redis/request-sweep.ts';
import type { Logger } from '../log.ts';
import type { Stores } from '../storage/stores.ts';
import { Cleaner } from './cleaner.ts';
import { startSweeper } from './sweeper.ts';

export interface HousekeepingOptions {
  connection: RedisConnection;
  stores: Pick<Stores, 'find'>;
  log: Logger;
}

export interface Housekeeping {
  /** Resolves when the steps under way have ended. */
  close(): Promise<void>;
}

export function startHousekeeping({ connection, stores, log }: HousekeepingOptions): Housekeeping {
  const { redis } = connection;
  const gate = createExpiryGate();
  const stopListening = connection.onStateChange(() => gate.reset());
  const listWorkspaces = () => readWorkspaces(redis);
  const sweeper = startSweeper({ redis, gate, listWorkspaces, log });
  const cleaner = new Cleaner({ redis, stores, listWorkspaces, log });
  return {
    close: async () => {
      stopListening();
      await Promise.all([sweeper.close(), cleaner.close()]);
    },
  };
}
