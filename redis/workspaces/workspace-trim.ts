/** Trims the keys of a workspace over its share of Redis' memory: foreign data before Berth's own. */
import { workKeys } from '../../api/redis-keys.ts';
import { type RedisClient, sendSlowCommand } from '../client.ts';
import { LIMITS } from '../function-table.ts';

export interface Cut {
  /** Dispensable, unknown, and oversized keys. */
  wanted: number;
  /** Also accepted requests and their indexes: no more than necessary. */
  needed: number;
}

/** Maximum of an id, name or key; and of a stored object to be removed. */
const MEMBER_BYTES = 256;
const OBJECT_BYTES = 16 * 1024;

type Sort = 'foreign' | 'brief' | 'request' | 'index' | 'budget' | 'kept';

interface Kind {
  sort: Sort;
  type: 'string' | 'hash' | 'zset';
  /** Redis' size of the longest that functions write. */
  most: number;
}

interface Found extends Kind {
  key: Buffer;
  kind: string;
  rest: string;
  bytes: number;
}

const KIB = 1024;
const NOTE_BYTES = 8 * KIB;
/** A row of the outbox, as Redis rounds it up. */
const TEXT_BYTES = 96 * KIB;

const note: Kind = { sort: 'brief', type: 'string', most: NOTE_BYTES };
const text: Kind = { sort: 'request', type: 'string', most: TEXT_BYTES };
/** It grows with the number of accepted requests. */
const index: Kind = { sort: 'index', type: 'zset', most: Number.POSITIVE_INFINITY };

const listKinds = (words: string, kind: Kind) =>
  Object.fromEntries(words.split(' ').map((word) => [word, kind]));

/** Everything of `workKeys`, by the word after the prefix. */
const KINDS: Readonly<Record<string, Kind>> = {
  credit: { sort: 'kept', type: 'string', most: KIB },
  // A workspace can make any number of them.
  ...listKinds('spent warned', { sort: 'budget', type: 'string', most: NOTE_BYTES }),
  ...listKinds('rpm tpd used settled charged idempotency claimed sampled counted', note),
  replicas: { sort: 'brief', type: 'hash', most: 2 * KIB * KIB },
  pace: { sort: 'brief', type: 'hash', most: NOTE_BYTES },
  usage: { sort: 'brief', type: 'hash', most: KIB * KIB },
  recent: { sort: 'brief', type: 'zset', most: KIB * KIB },
  request: { sort: 'request', type: 'hash', most: LIMITS.MAX_RECORD_BYTES },
  ...listKinds('params prompt result event', text),
  ...listKinds('by queue turns again leases ended deployments outbox cleanup', index),
};
/** Those of which a workspace has one each. */
const SINGLE = new Set(['credit', 'leases', 'ended', 'deployments', 'outbox', 'cleanup']);
const KEYS_A_STEP = '250';
const MEMBERS_AT_ONCE_BYTES = 1024 * 1024;

/** Removes keys until so many bytes are free, accepted requests late, what budgets spent last, and what the workspace spent never; returns the bytes. */
export async function trimWorkspace(redis: RedisClient, namespace: string, cut: Cut): Promise<number> {
  const isOrphan = (found: readonly Found[]) => findOrphans(redis, namespace, found);
  const dropLongMembers = async (found: readonly Found[]) => {
    for (const each of found) if (freed < cut.wanted) freed += await shedMembers(redis, each);
    return new Set<Found>();
  };
  const everyOne = async (found: readonly Found[]) => new Set(found);
  let freed = 0;
  for (const { sort, target, pick } of [
    { sort: 'foreign', target: cut.wanted, pick: everyOne },
    { sort: 'brief', target: cut.wanted, pick: everyOne },
    { sort: 'request', target: cut.wanted, pick: isOrphan },
    { sort: 'index', target: cut.wanted, pick: dropLongMembers },
    { sort: 'request', target: cut.needed, pick: everyOne },
    { sort: 'index', target: cut.needed, pick: everyOne },
    { sort: 'budget', target: cut.needed, pick: everyOne },
  ] as const) {
    let cursor = '0';
    do {
      if (freed >= target) break;
      const step = await readStep(redis, namespace, cursor);
      const picked = await pick(step.found.filter((each) => each.sort === sort));
      const victims: Buffer[] = [];
      for (const { key, bytes } of picked) {
        if (freed >= target) break;
        freed += bytes;
        victims.push(key);
      }
      if (victims.length > 0) await sendSlowCommand(redis, 'unlink', victims);
      cursor = step.next;
    } while (cursor !== '0');
  }
  return freed;
}

async function readStep(redis: RedisClient, namespace: string, cursor: string) {
  const { prefix } = workKeys(namespace);
  const args = [cursor, 'MATCH', `${prefix}*`, 'COUNT', KEYS_A_STEP];
  // A name that is not UTF-8 must be removed by its raw bytes.
  const [next, keys] = (await sendSlowCommand(redis, 'scan', args, null)) as [Buffer, Buffer[]];
  const found = await Promise.all(
    keys.map(async (key): Promise<Found> => {
      const [kind = '', ...parts] = key.toString().slice(prefix.length).split(':');
      const [bytes, type] = await Promise.all([
        sendSlowCommand(redis, 'memory', ['USAGE', key, 'SAMPLES', '0']),
        sendSlowCommand(redis, 'type', [key]),
      ]);
      const known = Object.hasOwn(KINDS, kind) && SINGLE.has(kind) === (parts.length === 0) && KINDS[kind];
      const size = Number(bytes ?? 0);
      const isOurs = known && known.type === type && size <= known.most;
      const { sort, most } = isOurs ? known : { sort: 'foreign' as const, most: 0 };
      return { key, kind, rest: parts.join(':'), bytes: size, sort, most, type: type as Kind['type'] };
    }),
  );
  return { next: String(next), found };
}

/** Keys of requests in no index: functions never leave such keys. */
async function findOrphans(
  redis: RedisClient,
  namespace: string,
  found: readonly Found[],
): Promise<Set<Found>> {
  const keys = workKeys(namespace);
  const has = async (indexKey: string, id: string) =>
    (await sendSlowCommand(redis, 'zscore', [indexKey, id]).catch(() => null)) !== null;
  const isKnown = async ({ kind, rest: id }: Found): Promise<boolean> => {
    if (kind === 'event') return has(keys.outbox, id);
    // A different type, or an oversized one, was removed before.
    const deployment = await sendSlowCommand(redis, 'hget', [keys.request(id), 'deployment']).catch(
      () => null,
    );
    return typeof deployment === 'string' && has(keys.index(deployment, 'all'), id);
  };
  const known = await Promise.all(found.map(isKnown));
  return new Set(found.filter((_, i) => !known[i]));
}

/** Removes oversized members of an index, if they are a large part of it; returns the bytes. */
async function shedMembers(redis: RedisClient, { key, kind, bytes }: Found): Promise<number> {
  const most = kind === 'cleanup' ? OBJECT_BYTES : MEMBER_BYTES;
  const average = bytes / Math.max(1, Number(await sendSlowCommand(redis, 'zcard', [key])));
  if (average <= 2 * most) return 0;
  const count = String(Math.max(1, Math.min(1000, Math.floor(MEMBERS_AT_ONCE_BYTES / average))));
  let cursor = '0';
  do {
    const args = [key, cursor, 'COUNT', count];
    const [next, pairs] = (await sendSlowCommand(redis, 'zscan', args, null)) as [Buffer, Buffer[]];
    const long = pairs.filter((member, i) => i % 2 === 0 && member.length > most);
    if (long.length > 0) await sendSlowCommand(redis, 'zrem', [key, ...long]);
    cursor = String(next);
  } while (cursor !== '0');
  return bytes - Number((await sendSlowCommand(redis, 'memory', ['USAGE', key, 'SAMPLES', '0'])) ?? 0);
}
