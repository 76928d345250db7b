import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { takeEvents } from '../../../redis/deliveries/delivery-calls.ts';

const MAX_ROW_BYTES = 72 * 1024;

/** A workspace's Redis user may write rows of any length in the format of the functions. */
describe('an entry of the outbox', () => {
  const keys = workKeys('team');
  const rowOf = (id: string, bytes: number) => {
    const head = `\n{"id":"${id}","type":"request.completed","created_at":1,"data":{"id":"req_1","more":"`;
    return `${head}${'x'.repeat(bytes - head.length - 3)}"}}`;
  };

  it('is read up to 72 KiB, and dropped where it is longer', async () => {
    const rows = new Map([
      [keys.event('evt_1'), rowOf('evt_1', MAX_ROW_BYTES)],
      [keys.event('evt_2'), rowOf('evt_2', MAX_ROW_BYTES + 1)],
      [keys.event('evt_3'), rowOf('evt_3', 1024 * 1024)],
    ]);
    let longest = 0;
    const removed: string[] = [];
    const batch = {
      zrem: () => batch,
      del: (...names: string[]) => {
        removed.push(...names);
        return batch;
      },
      exec: async () => [],
    };
    const redis = {
      fcall: async () => ['evt_1', 'evt_2', 'evt_3'],
      getrange: async (key: string, start: number, end: number) => {
        const text = rows.get(key)!.slice(start, end + 1);
        longest = Math.max(longest, text.length);
        return text;
      },
      multi: () => batch,
    } as unknown as RedisClient;
    const taken = await takeEvents(redis, 'team', { limit: 50, leaseMs: 1_000 });
    expect(taken.map(({ id }) => id)).to.deep.equal(['evt_1']);
    expect(removed).to.deep.equal([keys.event('evt_2'), keys.event('evt_3')]);
    expect(longest, 'characters read').to.equal(MAX_ROW_BYTES + 1);
  });
});
