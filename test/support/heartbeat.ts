/** The heartbeat of a replica in a test. */
import type { Heartbeat } from '../../api/redis-keys.ts';

type Word = Omit<Heartbeat, 'at'>;

/** Idle and ready by default. */
export const describeReplica = (fields: Partial<Word> = {}): Word => ({
  v: 1,
  pod: 'pod',
  address: '10.0.0.1',
  port: 8080,
  inflight: 0,
  limit: null,
  ready: true,
  draining: false,
  version: '0.1.0',
  boot: '0123456789abcdef',
  busyMs: 0,
  arrivals: 0,
  activeAt: 1_790_000_000_000,
  every: 1_000,
  ...fields,
});
