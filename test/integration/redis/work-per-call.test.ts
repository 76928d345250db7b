import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { sweepRequests } from '../../../redis/requests/request-sweep.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { newRequestId } from '../../support/request-fixture.ts';

const KIB = 1024;

/** A workspace's Redis user may call functions with any limit, and fill any set that they read. */
describe('what a function does in one call', () => {
  const space = useMediaWorkspace();
  const keys = () => workKeys(space.namespace);
  const fill = (key: string, members: string[]) =>
    space.redis.zadd(key, ...members.flatMap((each) => [1, each]));
  const makeIds = (count: number) => Array.from({ length: count }, newRequestId);
  const refusal = (call: Promise<unknown>) => rejection(call).then(String);

  it('is at most 500 ids of a list', async () => {
    const index = keys().index(space.deployment, 'all');
    await fill(index, makeIds(520));
    expect(await space.redis.fcall(FUNCTIONS.list, 1, index, '100000')).to.have.lengthOf(500);
  });

  it('is at most 200 due members, and 200 names', async () => {
    await fill(keys().outbox, makeIds(220));
    expect(await space.redis.fcall(FUNCTIONS.takeDue, 1, keys().outbox, '100000', '1000')).to.have.lengthOf(
      200,
    );
    await fill(
      keys().deployments,
      Array.from({ length: 220 }, (_, i) => `film-${i}`),
    );
    expect(await space.redis.fcall(FUNCTIONS.names, 1, keys().deployments, '100000')).to.have.lengthOf(200);
  });

  it('is at most 100 requests of a sweep, which the next goes on with', async () => {
    await fill(keys().ended, makeIds(120));
    const sweep = () => sweepRequests(space.redis, space.namespace, { expireUntil: 0, limit: 100_000 });
    expect(await sweep()).to.include({ forgotten: 100, more: true });
    expect(await sweep()).to.include({ forgotten: 20, more: false });
  });

  it('is at most 20 records', async () => {
    const read = (count: number) => {
      const ids = makeIds(count);
      return space.redis.fcall(FUNCTIONS.read, 1, keys().request(ids[0]!), space.namespace, ...ids);
    };
    expect(await read(20)).to.have.lengthOf(20);
    expect(await refusal(read(21))).to.include('Too many, too few or too long arguments');
  });

  it('is at most six sketches of latencies, of what is stored no more than a sketch has', async () => {
    const key = keys().usage(space.deployment, 'minute', 1);
    const add = (count: number, last = '0;;') => {
      const texts = [...Array<string>(count - 1).fill('0;;'), last];
      const counts = texts.flatMap((text, i) => [`${i}:w`, `~${text}`]);
      return space.redis.fcall(
        FUNCTIONS.addUsage,
        2,
        keys().counted('film', ''),
        key,
        0,
        60,
        count,
        ...counts,
      );
    };
    const store = (text: string) =>
      space.redis.hset(key, ...Array.from({ length: 600 }, (_, i) => [`${i}:w`, text]).flat());
    await store(`1;${'1=1,'.repeat(1_500)};`);
    expect(await refusal(add(600))).to.include('Too many sketches');
    expect(await refusal(add(6, 'mine'))).to.include('Not a sketch: 5:w');
    await add(6);
    expect(await space.redis.hmget(key, '5:w', '6:w')).to.deep.equal([
      '1;1=249;',
      `1;${'1=1,'.repeat(1_500)};`,
    ]);
    for (const text of [`1;;${'1,'.repeat(3_000)}`, `1;${'1'.repeat(6_000)};`]) {
      await store(text);
      await add(6);
      expect(await space.redis.hget(key, '0:w')).to.equal('1;;');
    }
  });

  for (const [name, bytes, count] of [
    ['submit', 48 * KIB, 13],
    ['finish', 128 * KIB, 11],
  ] as const)
    it(`takes arguments of at most ${bytes / KIB} KiB for ${name}`, async () => {
      const id = newRequestId();
      const key = keys().request(id);
      const call = (total: number) => {
        const args = [space.namespace, id, ...Array(count - 3).fill('')];
        const left = total - [key, ...args].join('').length;
        return space.redis.fcall(FUNCTIONS[name], 1, key, ...args, 'x'.repeat(left));
      };
      expect(await refusal(call(bytes + 1))).to.include('Too many, too few or too long arguments');
      expect(await refusal(call(bytes))).not.to.include('long arguments');
    });

  it('takes arguments of at most 4 MiB for the deliveries of an event', async () => {
    const key = keys().outbox;
    const call = (total: number) => {
      const url = 'x'.repeat(4_000);
      const args = Array.from({ length: 1_000 }, (_, i) => [newRequestId(), `d${i}`, url, '']).flat();
      const fixed = [space.namespace, 'evt_none', 'video.completed', ''];
      const left = total - [key, ...fixed, ...args].join('').length;
      return space.redis.fcall(FUNCTIONS.expand, 1, key, ...fixed, 'x'.repeat(left), ...args);
    };
    expect(await refusal(call(4 * KIB * KIB + 1))).to.include('Too many, too few or too long arguments');
    expect(await refusal(call(4 * KIB * KIB))).not.to.include('long arguments');
  });

  it('begins with no argument over 1 MiB, whose sender loses the connection', async () => {
    const other = await connectTo(space.server, { commandTimeoutMs: 5_000 });
    try {
      const key = `${keys().prefix}long`;
      expect(await rejection(other.redis.set(key, 'x'.repeat(1024 * KIB)))).to.equal(undefined);
      expect(await rejection(other.redis.set(key, 'x'.repeat(1024 * KIB + 1)))).to.be.instanceOf(Error);
      expect(await space.redis.strlen(key)).to.equal(1024 * KIB);
    } finally {
      await other.close();
    }
  });
});
