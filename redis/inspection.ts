/** Inspects a Redis: persistence, eviction, limits, version. */
import { configKeys, consoleKeys, deliveryKeys, globalKeys, workKeys } from '../api/redis-keys.ts';
import type { RedisClient } from './client.ts';

export interface RedisInspection {
  version: string;
  /** Changes with every start of the server. */
  runId: string;
  persistence: 'aof' | 'rdb' | 'none';
  /**
   * What a restart restores of functions' writes: `nothing` if the append-only file is loaded as a default user
   * without the rights to write it: ours is off and has every right (decision 0079).
   */
  reloads: 'everything' | 'nothing';
  /** True if keys are never evicted. */
  evictionSafe: boolean;
  usedMemory: number;
  /** Bytes; 0 = no limit. */
  maxMemory: number;
  warnings: string[];
}

const MIN_VERSION = 7;
/** Limits on what functions and programs read at once of a workspace user's data. */
const MAX_ARGUMENT_BYTES = 1024 * 1024;

/** The problem, and how to fix it. */
export const REMEDIES = {
  persistence: 'Redis does not persist data across restarts: set appendonly yes.',
  reload:
    'Redis may lose what functions wrote when it restarts, because its default user lacks permissions: run ACL SETUSER default ~* &* +@all (the user may stay off).',
} as const;

export async function inspectRedis(redis: RedisClient): Promise<RedisInspection> {
  const info = await readInfo(redis);
  const [configuration, isReloadable] = await Promise.all([readConfiguration(redis), mayReload(redis)]);
  return evaluate(info, { configuration, mayReload: isReloadable });
}

/** From CONFIG, as far as supported by the server. */
export interface Configuration {
  save?: string;
  'proto-max-bulk-len'?: string;
  'client-output-buffer-limit'?: string;
  'maxmemory-clients'?: string;
}

export interface RedisServerSettings {
  /** Null if CONFIG is forbidden. */
  configuration: Configuration | null;
  /** Whether the default user may load the append-only file; null if ACL is forbidden. */
  mayReload: boolean | null;
}

/** Evaluates from INFO's fields and from settings. */
export function evaluate(info: Record<string, string>, settings: RedisServerSettings): RedisInspection {
  // Valkey reports its compatible Redis version under the old name.
  const version = info.redis_version ?? '0';
  const maxMemory = Number(info.maxmemory ?? 0);
  const policy = info.maxmemory_policy ?? 'unknown';
  const persistence = evaluatePersistence(info, settings.configuration);
  const reloads = persistence === 'aof' && settings.mayReload === false ? 'nothing' : 'everything';
  const evictionSafe = policy === 'noeviction' || maxMemory === 0;
  const warnings: string[] = [];
  if (Number.parseInt(version, 10) < MIN_VERSION) {
    warnings.push(`Redis ${version} is too old: ${MIN_VERSION}.0 or newer is needed.`);
  }
  if (persistence === 'none') warnings.push(REMEDIES.persistence);
  if (reloads === 'nothing') warnings.push(REMEDIES.reload);
  if (persistence === 'rdb') {
    warnings.push('Redis only keeps snapshots, so a restart loses the last minutes: set appendonly yes.');
  }
  if (!evictionSafe) {
    warnings.push(`Redis evicts keys when its memory is full (${policy}): set maxmemory-policy noeviction.`);
  }
  if (info.aof_enabled === '1' && info.aof_last_write_status === 'err') {
    warnings.push('Redis failed to write its append-only file last time.');
  }
  warnings.push(...evaluateClientLimits(settings.configuration ?? {}));
  return {
    version,
    runId: info.run_id ?? '',
    persistence,
    reloads,
    evictionSafe,
    usedMemory: Number(info.used_memory ?? 0),
    maxMemory,
    warnings,
  };
}

/** How a workspace's user could fill memory, or make others read too much. Unreported settings are not evaluated. */
function evaluateClientLimits(configuration: Configuration): string[] {
  const warnings: string[] = [];
  if (Number(configuration['proto-max-bulk-len'] ?? 0) > MAX_ARGUMENT_BYTES) {
    warnings.push(
      'Redis lets workspaces write values that it cannot read at once: set proto-max-bulk-len 1mb.',
    );
  }
  const isUnread = /\bnormal 0 0 /.test(configuration['client-output-buffer-limit'] ?? '');
  if (isUnread && configuration['maxmemory-clients'] === '0') {
    warnings.push(
      'Redis keeps any amount of replies that a client does not read: set client-output-buffer-limit normal 32mb 16mb 10 and maxmemory-clients 25%.',
    );
  }
  return warnings;
}

function evaluatePersistence(info: Record<string, string>, configuration: Configuration | null) {
  if (info.aof_enabled === '1') return 'aof';
  // Without CONFIG, a finished save is the only sign that snapshots are made.
  const saves = configuration === null ? Number(info.rdb_saves ?? 0) > 0 : (configuration.save ?? '') !== '';
  return saves ? 'rdb' : 'none';
}

const CONFIGURATION = [
  'save',
  'proto-max-bulk-len',
  'client-output-buffer-limit',
  'maxmemory-clients',
] as const;

/** Managed services forbid CONFIG. */
async function readConfiguration(redis: RedisClient): Promise<Configuration | null> {
  try {
    const pairs = (await redis.config('GET', ...CONFIGURATION)) as string[];
    return Object.fromEntries(
      pairs.flatMap((name, index) => (index % 2 === 0 ? [[name, pairs[index + 1] ?? '']] : [])),
    );
  } catch {
    return null;
  }
}

/** Fields of INFO by name; of one section, or the default ones. */
export async function readInfo(redis: RedisClient, section?: string): Promise<Record<string, string>> {
  const text = await (section === undefined ? redis.info() : redis.info(section));
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
}

const RIGHTS_NAMESPACE = 'rights';
const { prefix } = workKeys(RIGHTS_NAMESPACE);
const KEY = `${prefix}rights`;
const OTHER_KEYS = [
  configKeys(RIGHTS_NAMESPACE).workspace,
  deliveryKeys(RIGHTS_NAMESPACE).log,
  globalKeys.hosts,
  consoleKeys.session('rights'),
];

/** As in the file: TTLs as timestamps, counters unchanged. */
const WRITES: string[][] = [
  ...[KEY, ...OTHER_KEYS].map((key) => ['SET', key, '1']),
  ...'DEL UNLINK PERSIST INCR DECR ZPOPMIN'.split(' ').map((command) => [command, KEY]),
  ...'EXPIRE PEXPIRE PEXPIREAT INCRBY DECRBY RPUSH SADD SREM'
    .split(' ')
    .map((command) => [command, KEY, '1']),
  ...'HSET HSETNX HINCRBY'.split(' ').map((command) => [command, KEY, 'field', '1']),
  ...'LTRIM ZREMRANGEBYRANK'.split(' ').map((command) => [command, KEY, '0', '1']),
  ['RENAME', KEY, KEY],
  ['HDEL', KEY, 'field'],
  ['ZADD', KEY, '1', 'member'],
  ['ZREM', KEY, 'member'],
  ['SELECT', '0'],
  ['MULTI'],
  ['EXEC'],
];

/**
 * Whether the user as which Redis loads its append-only file may run the commands in it; null if unknown: managed services
 * forbid ACL.
 */
async function mayReload(redis: RedisClient): Promise<boolean | null> {
  const batch = redis.pipeline();
  for (const write of WRITES) batch.call('ACL', 'DRYRUN', 'default', ...write);
  const replies = (await batch.exec()) ?? [];
  if (replies.some(([error]) => error !== null)) return null;
  return replies.every(([, verdict]) => verdict === 'OK');
}
