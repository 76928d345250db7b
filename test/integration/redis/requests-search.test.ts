import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { listRequests } from '../../../redis/requests/request-record.ts';
import { MAX_SUBMITTERS, searchRequests } from '../../../redis/requests/request-search.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { rejection } from '../../support/redis-client.ts';
import { newRequestId } from '../../support/request-fixture.ts';

const KEY = 'a'.repeat(64);
const HASH = KEY.slice(0, 24);

describe('a search among requests', () => {
  const space = useMediaWorkspace({ maxQueued: 1_000 });
  const { deployment, submitted } = space;
  const query = () => ({ namespace: space.namespace, deployment, limit: 100 });
  const index = () => workKeys(space.namespace).index(deployment, 'all');
  /** Milliseconds at which they were queued, one each. */
  const spread = async (ids: string[]) => {
    for (const [at, id] of ids.entries()) await space.redis.zadd(index(), (at + 1) * 1_000_000, id);
  };
  const search = (submitters: string[], more: object = {}) =>
    searchRequests(space.redis, { ...query(), submitters, ...more });
  const found = async (...args: Parameters<typeof search>) =>
    (await search(...args)).records.map(({ id }) => id);

  it('finds those of a key by its hash or its name, newest first', async () => {
    const shop = await submitted({ sha256: KEY, keyName: 'shop' });
    const other = await submitted({ sha256: 'b'.repeat(64), keyName: 'other' });
    const again = await submitted({ sha256: KEY, keyName: 'shop' });
    expect(await found([HASH])).to.deep.equal([again, shop]);
    expect(await found(['shop'])).to.deep.equal([again, shop]);
    expect(await found(['other', 'shop'])).to.deep.equal([again, other, shop]);
    expect(await found(['nobody'])).to.deep.equal([]);
    expect(await found([HASH], { status: 'running' })).to.deep.equal([]);
  });

  it('goes on after an id, also where it has found enough', async () => {
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await submitted({ sha256: KEY }));
    const first = await search([HASH], { limit: 2 });
    expect(first.records.map(({ id }) => id)).to.deep.equal([ids[4], ids[3]]);
    expect(first.reached?.id).to.equal(ids[3]);
    const rest = await search([HASH], { after: ids[3] });
    expect(rest.records.map(({ id }) => id)).to.deep.equal([ids[2], ids[1], ids[0]]);
    expect(rest.reached).to.equal(null);
    expect(await found([HASH], { after: newRequestId() })).to.deep.equal([]);
  });

  it('examines 100 requests at most in one call, however many there are', async () => {
    const own = await submitted({ sha256: KEY });
    await spread([own, ...Array.from({ length: 250 }, newRequestId)]);
    const first = await search([HASH]);
    expect(first.records).to.deep.equal([]);
    expect(first.reached?.at).to.equal(152_000);
    const second = await search([HASH], { after: first.reached!.id });
    expect(second.reached?.at).to.equal(52_000);
    const last = await search([HASH], { after: second.reached!.id });
    expect([last.records.map(({ id }) => id), last.reached]).to.deep.equal([[own], null]);
  });

  it('is within a time, as a list is in both orders', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(await submitted({ sha256: KEY }));
    await spread(ids);
    const span = { since: 2_000, before: 5_000 };
    const expected = [ids[3], ids[2], ids[1]];
    expect(await found([HASH], span)).to.deep.equal(expected);
    const list = async (more: object) =>
      (await listRequests(space.redis, { ...query(), ...span, ...more })).map(({ id }) => id);
    expect(await list({})).to.deep.equal(expected);
    expect(await list({ limit: 2 })).to.deep.equal(expected.slice(0, 2));
    expect(await list({ after: ids[2] })).to.deep.equal([ids[1]]);
    expect(await list({ order: 'asc' })).to.deep.equal([...expected].reverse());
    expect(await list({ order: 'asc', after: ids[1] })).to.deep.equal([ids[2], ids[3]]);
    expect(await list({ since: 7_000, before: undefined })).to.deep.equal([]);
    expect(await list({ since: undefined, before: 1_000 })).to.deep.equal([]);
  });

  it('takes a bounded number of names, and times that are numbers', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, number) => `key-${number}`);
    expect(await found(names(MAX_SUBMITTERS))).to.deep.equal([]);
    expect(String(await rejection(search(names(MAX_SUBMITTERS + 1))))).to.include('Too many');
    for (const name of [FUNCTIONS.list, FUNCTIONS.search]) {
      const args = name === FUNCTIONS.list ? ['1', '', '', 'inf'] : ['n', '1', '', 'inf', '', 'shop'];
      expect(String(await rejection(space.redis.fcall(name, 1, index(), ...args)))).to.include(
        'whole numbers',
      );
    }
  });

  it('skips what is longer than any name, and ids that are none', async () => {
    const own = await submitted({ sha256: KEY, keyName: 'shop' });
    const long = await submitted({ sha256: 'c'.repeat(64), keyName: 'shop' });
    await space.redis.hset(workKeys(space.namespace).request(long), 'key_name', 'x'.repeat(1_000));
    await space.redis.zadd(index(), 1, 'x'.repeat(100_000));
    expect(await found(['shop', 'x'.repeat(1_000)])).to.deep.equal([own]);
  });
});
