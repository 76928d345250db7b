/** Checks whether a Redis keeps its data: persistence, eviction, version. */
import type { RedisClient } from './client.ts';
import { mayReload } from './reload-rights.ts';

export interface RedisInspection {
  version: string;
  /** Changes with every start of the server. */
  runId: string;
  persistence: 'aof' | 'rdb' | 'none';
  /**
   * What a restart restores of what functions wrote: `nothing` where the append-only file is loaded as a default user
   * without the rights to write it.
   */
  reloads: 'everything' | 'nothing';
  /** True when no key can be dropped for want of memory. */
  evictionSafe: boolean;
  usedMemory: number;
  /** Bytes; 0 = no limit. */
  maxMemory: number;
  warnings: string[];
}

const MIN_VERSION = 7;

/** What is wrong, and how to fix it. */
export const REMEDIES = {
  persistence: 'Redis does not persist data across restarts: set appendonly yes.',
  reload:
    'Redis may lose what functions wrote when it restarts, because its default user lacks permissions: run ACL SETUSER default ~* &* +@all (the user may stay off).',
} as const;

export async function inspectRedis(redis: RedisClient): Promise<RedisInspection> {
  const info = parseInfo(await redis.info());
  const [snapshots, isReloadable] = await Promise.all([readSnapshots(redis), mayReload(redis)]);
  return judge(info, { snapshots, mayReload: isReloadable });
}

export interface Settings {
  /** CONFIG's `save`; null where CONFIG is forbidden. */
  snapshots: string | null;
  /** Whether the default user may load the append-only file; null where ACL is forbidden. */
  mayReload: boolean | null;
}

/** Judges from INFO's fields and from settings. */
export function judge(info: Record<string, string>, settings: Settings): RedisInspection {
  // Valkey reports the Redis version that it is compatible with under the old name.
  const version = info.redis_version ?? '0';
  const maxMemory = Number(info.maxmemory ?? 0);
  const policy = info.maxmemory_policy ?? 'unknown';
  const persistence = judgePersistence(info, settings.snapshots);
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

function judgePersistence(info: Record<string, string>, snapshots: string | null) {
  if (info.aof_enabled === '1') return 'aof';
  // Without CONFIG, a finished save is the only sign that snapshots are made.
  const saves = snapshots === null ? Number(info.rdb_saves ?? 0) > 0 : snapshots !== '';
  return saves ? 'rdb' : 'none';
}

function parseInfo(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
}

/** Managed services forbid CONFIG. */
async function readSnapshots(redis: RedisClient): Promise<string | null> {
  try {
    const [, value] = (await redis.config('GET', 'save')) as string[];
    return value ?? null;
  } catch {
    return null;
  }
}
