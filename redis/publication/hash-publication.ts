/** Writes published hashes: only differences, with the message that notifies readers. */
import { channels, globalKeys } from '../../api/redis-keys.ts';
import { execute, type RedisClient } from '../client.ts';
import { encodeChange, type PublishedChange } from './changes.ts';

export interface HashField {
  key: string;
  field: string;
  /** null removes the field. */
  value: string | null;
}

export const writeField = (redis: RedisClient, field: HashField, change: PublishedChange): Promise<boolean> =>
  writeFields(redis, [field], change);

/** All at once, if any differ. */
export async function writeFields(
  redis: RedisClient,
  wanted: readonly HashField[],
  change: PublishedChange,
): Promise<boolean> {
  const present = await Promise.all(wanted.map(({ key, field }) => redis.hget(key, field)));
  const changed = wanted.filter(({ value }, index) => value !== present[index]);
  if (changed.length === 0) return false;
  const batch = redis.multi();
  for (const { key, field, value } of changed) {
    if (value === null) batch.hdel(key, field);
    else batch.hset(key, field, value);
  }
  return commit(recordWorkspace(batch, change), change);
}

/** Replaces the hash exactly. */
export async function replaceHash(
  redis: RedisClient,
  key: string,
  wanted: ReadonlyMap<string, string>,
  change: PublishedChange,
): Promise<boolean> {
  const present = await redis.hgetall(key);
  const written = [...wanted].filter(([field, value]) => present[field] !== value);
  const removed = Object.keys(present).filter((field) => !wanted.has(field));
  if (written.length + removed.length === 0) return false;
  const batch = redis.multi();
  for (const fields of splitIntoParts(written)) batch.hset(key, ...fields.flat());
  for (const fields of splitIntoParts(removed)) batch.hdel(key, ...fields);
  return commit(recordWorkspace(batch, change), change);
}

/** Fields per command: arguments are limited, and a workspace's hash may have very many. */
const MAX_FIELDS = 1_000;

const splitIntoParts = <T>(fields: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(fields.length / MAX_FIELDS) }, (_, part) =>
    fields.slice(part * MAX_FIELDS, (part + 1) * MAX_FIELDS),
  );

type Batch = ReturnType<RedisClient['multi']>;

function recordWorkspace(batch: Batch, change: PublishedChange): Batch {
  return change.what === 'hosts' ? batch : batch.sadd(globalKeys.workspaces, change.namespace);
}

/** Runs the batch and announces the change. */
export async function commit(batch: Batch, change: PublishedChange): Promise<true> {
  const message = encodeChange(change);
  batch.publish(channels.front, message);
  if (change.what !== 'hosts') batch.publish(channels.workspace(change.namespace), message);
  await execute(batch);
  return true;
}
