/** Whether the user as which Redis loads its append-only file may run the commands in it. */
import { configKeys, consoleKeys, deliveryKeys, globalKeys, workKeys } from '../api/redis-keys.ts';
import type { RedisClient } from './client.ts';

const NAMESPACE = 'rights';
const { prefix } = workKeys(NAMESPACE);
const KEY = `${prefix}rights`;
const OTHER_KEYS = [
  configKeys(NAMESPACE).workspace,
  deliveryKeys(NAMESPACE).log,
  globalKeys.hosts,
  consoleKeys.session('rights'),
];

/** As in the file: TTLs as timestamps, counters unchanged. */
const WRITES: string[][] = [
  ...[KEY, ...OTHER_KEYS].map((key) => ['SET', key, '1']),
  ['DEL', KEY],
  ['UNLINK', KEY],
  ['EXPIRE', KEY, '1'],
  ['PEXPIRE', KEY, '1'],
  ['PEXPIREAT', KEY, '1'],
  ['PERSIST', KEY],
  ['RENAME', KEY, KEY],
  ['INCR', KEY],
  ['INCRBY', KEY, '1'],
  ['DECR', KEY],
  ['DECRBY', KEY, '1'],
  ['HSET', KEY, 'field', '1'],
  ['HSETNX', KEY, 'field', '1'],
  ['HINCRBY', KEY, 'field', '1'],
  ['HDEL', KEY, 'field'],
  ['RPUSH', KEY, '1'],
  ['LTRIM', KEY, '0', '1'],
  ['SADD', KEY, '1'],
  ['SREM', KEY, '1'],
  ['ZADD', KEY, '1', 'member'],
  ['ZREM', KEY, 'member'],
  ['ZPOPMIN', KEY],
  ['ZREMRANGEBYRANK', KEY, '0', '1'],
  ['SELECT', '0'],
  ['MULTI'],
  ['EXEC'],
];

/** False if it may not; null if unknown: managed services forbid ACL. */
export async function mayReload(redis: RedisClient): Promise<boolean | null> {
  const batch = redis.pipeline();
  for (const write of WRITES) batch.call('ACL', 'DRYRUN', 'default', ...write);
  const replies = (await batch.exec()) ?? [];
  if (replies.some(([error]) => error !== null)) return null;
  return replies.every(([, verdict]) => verdict === 'OK');
}
