/** Usage and cost per API key, deployment and day: equal to the workspace's account, except for usage in flight. */
import { PERSONAL_KEY_PREFIX, PERSONAL_KEYS_DIGITS, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import type { HashCounts } from './usage-batch.ts';
import { readUsageHashes } from './usage-hashes.ts';

const COUNTERS = { requests: 'r', inputTokens: 'i', outputTokens: 'o', micros: 'c' } as const;
type KeyCounter = keyof typeof COUNTERS;
const COUNTER_NAMES = Object.keys(COUNTERS) as KeyCounter[];

/** `micros`: millionths of the currency of prices. */
export type KeyUsage = Record<KeyCounter, number>;

export interface KeyUsageRow extends KeyUsage {
  /** UTC, such as 2026-11-23. */
  day: string;
  deployment: string;
  /** First 24 digits of the key's SHA-256; PERSONAL_KEYS_DIGITS for those of playgrounds together. */
  keyHash: string;
}

const DAY_MS = 86_400_000;
/** The previous month is complete until this one ends. */
const KEEP_SECONDS = 62 * 86_400;
export const MAX_DAYS = 62;
/** As other keys of Redis have them. */
export const HASH_DIGITS = 24;

/** What a key's usage is counted under, by the digits of its SHA-256 and its name. */
export const countedAs = (sha256: string, name: string | null | undefined): string =>
  name?.startsWith(PERSONAL_KEY_PREFIX) ? PERSONAL_KEYS_DIGITS : sha256;

const dayOf = (at: number): number => Math.floor(at / DAY_MS);
const formatDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** Keys per batch: each has up to four counts. */
const MAX_KEYS = 100;

/** Parts of as many batches, for the day of `at` (Unix milliseconds). `used`: by the first digits of the keys' SHA-256. */
export function* listKeyUsage({
  namespace,
  deployment,
  at,
  used,
}: {
  namespace: string;
  deployment: string;
  at: number;
  used: ReadonlyMap<string, KeyUsage>;
}): Generator<HashCounts> {
  const key = workKeys(namespace).keyUsage(deployment, dayOf(at));
  const all = [...used];
  for (let start = 0; start < all.length; start += MAX_KEYS) {
    const counts = all
      .slice(start, start + MAX_KEYS)
      .flatMap(([keyHash, usage]) =>
        COUNTER_NAMES.map((counter) => [`${keyHash}:${COUNTERS[counter]}`, usage[counter]] as const),
      )
      .filter(([, amount]) => amount !== 0);
    yield { key, keepSeconds: KEEP_SECONDS, counts };
  }
}

const FIELD = /^([0-9a-f]{24}):([rioc])$/;

/** `from`, `to`: Unix milliseconds, both days inclusive; at most 62 days. Yields one deployment and day at a time, the newest day first. */
export async function* readKeyUsageRows(
  redis: RedisClient,
  {
    namespace,
    deployments,
    from,
    to,
  }: { namespace: string; deployments: readonly string[]; from: number; to: number },
): AsyncGenerator<KeyUsageRow[]> {
  const last = dayOf(to);
  const first = Math.max(dayOf(from), last - MAX_DAYS + 1);
  yield* readUsageHashes(redis, namespace, listDays());

  function* listDays() {
    for (let day = last; day >= first; day--)
      for (const deployment of deployments)
        yield {
          key: workKeys(namespace).keyUsage(deployment, day),
          view: (entries: readonly string[]) => decodeDay(entries, { day: formatDay(day), deployment }),
        };
  }
}

function decodeDay(
  entries: readonly string[],
  place: Pick<KeyUsageRow, 'day' | 'deployment'>,
): KeyUsageRow[] {
  const rows = new Map<string, KeyUsageRow>();
  for (let i = 0; i < entries.length; i += 2) {
    const [, keyHash, short] = FIELD.exec(entries[i]!) ?? [];
    const amount = Number(entries[i + 1]);
    // The workspace's own Redis user may write there.
    if (!keyHash || !Number.isSafeInteger(amount)) continue;
    const row = rows.get(keyHash) ?? {
      ...place,
      keyHash,
      ...{ requests: 0, inputTokens: 0, outputTokens: 0, micros: 0 },
    };
    row[COUNTER_NAMES.find((name) => COUNTERS[name] === short)!] = amount;
    rows.set(keyHash, row);
  }
  return [...rows.values()];
}
