import { expect } from 'chai';
import type { RedisClient } from '../../../redis/client.ts';
import { FIELDS, FUNCTIONS } from '../../../redis/function-table.ts';
import { cancelQueued } from '../../../redis/requests/queue-cancellation.ts';
import { rejection } from '../../support/redis-client.ts';

const SHOWN = FIELDS.SHOWN_FIELDS.toSpliced(FIELDS.RESULT_AT - 1, 0, 'result');
const shown = (values: Record<string, string>) => SHOWN.map((name) => values[name] ?? null);
const idOf = (index: number) => `req_${String(index).padStart(32, '0')}`;
const place = { namespace: 'team', deployment: 'film' };

/** Redis with so many queued requests; `cancel` may fail, or answer that a request has started. */
function createRedis(count: number, cancel: (id: string) => 'canceled' | 'not_cancellable') {
  const lists: unknown[][] = [];
  const record = shown({ deployment: 'film', status: 'queued' });
  const fcall = async (name: string, keyCount: number, ...args: (string | number)[]) => {
    const rest = args.slice(keyCount);
    if (name === FUNCTIONS.list) {
      lists.push(rest);
      return Array.from({ length: Math.min(count, Number(rest[0])) }, (_, i) => idOf(i));
    }
    if (name === FUNCTIONS.read) return rest.slice(1).map(() => record);
    return [cancel(String(rest[1])), record];
  };
  const redis = { fcall, time: async () => ['1700000000', '123456'] } as unknown as RedisClient;
  return { redis, lists };
}

describe('canceling all that is queued', () => {
  it('ends what was queued before it began, part by part', async () => {
    const { redis, lists } = createRedis(500, () => 'canceled');
    const first = await cancelQueued(redis, place);
    expect(first).to.deep.equal({ canceled: 200, before: 1_700_000_000_123, hasMore: true });
    await cancelQueued(redis, { ...place, before: first.before });
    expect(lists.map((args) => args.at(-1))).to.deep.equal([1_700_000_000_123_000, 1_700_000_000_123_000]);
  });

  it('counts only those that had not started', async () => {
    const { redis } = createRedis(3, (id) => (id === idOf(1) ? 'not_cancellable' : 'canceled'));
    expect(await cancelQueued(redis, place)).to.include({ canceled: 2, hasMore: false });
  });

  it('tells of what it ended before Redis failed, and then of the failure', async () => {
    const { redis } = createRedis(3, (id) => {
      if (id === idOf(2)) throw new Error('away');
      return 'canceled';
    });
    expect(await cancelQueued(redis, place)).to.include({ canceled: 2, hasMore: true });
    const away = createRedis(3, () => {
      throw new Error('away');
    });
    expect(await rejection(cancelQueued(away.redis, place))).to.have.property('message', 'away');
  });
});
