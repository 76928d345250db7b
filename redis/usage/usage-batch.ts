/** Adds to hashes of usage: a batch is applied whole or not at all, and once, however often it is sent. */
import { workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction, LIMITS } from '../function-table.ts';

/** What is added to one hash. */
export interface HashCounts {
  key: string;
  /** From now on. */
  keepSeconds: number;
  /** Fields and amounts; or `least`, if the field is a maximum instead of a sum. */
  counts: readonly (readonly [field: string, amount: number, isLeast?: boolean])[];
  /** Texts of latencies, merged into those that the fields have (latency-sketch.ts). */
  sketches?: readonly (readonly [field: string, text: string])[];
}

export interface UsageBatch {
  namespace: string;
  deployment: string;
  /** A repeat has the same. `number`: above those of all earlier batches of the writer, which sends one after the other. */
  id?: { writer: string; number: number };
  /** At most three. */
  hashes: readonly HashCounts[];
}

/** Repeats are recognized for so long. */
export const REMEMBERED_MS = LIMITS.REMEMBERED_SECONDS * 1000;
/** False: this batch, or a later one of its writer, was added before, and nothing changed. */
export async function addBatch(redis: RedisClient, batch: UsageBatch): Promise<boolean> {
  const { namespace, deployment, id = { writer: '', number: 0 } } = batch;
  const hashes = batch.hashes.filter(({ counts, sketches = [] }) => counts.length + sketches.length > 0);
  if (hashes.length === 0) return false;
  const marker = workKeys(namespace).counted(deployment, id.writer);
  const args = hashes.flatMap(({ keepSeconds, counts, sketches = [] }) => [
    keepSeconds,
    counts.length + sketches.length,
    ...counts.flatMap(([field, amount, isLeast]) => [field, isLeast ? `>${amount}` : amount]),
    ...sketches.flatMap(([field, text]) => [field, `~${text}`]),
  ]);
  const keys = [marker, ...hashes.map(({ key }) => key)];
  return (await callFunction(redis, 'addUsage', keys, { batch: id.number }, args)) === 1;
}
