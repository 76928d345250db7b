import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { readPace } from '../../../gateway/jobs/pace.ts';
import { finishRequest } from '../../../redis/requests/request-calls.ts';
import { findEarlierRequest, listRequests, readRequest } from '../../../redis/requests/request-record.ts';
import { useMediaWorkspace } from '../../support/media-workspace.ts';
import { rejection } from '../../support/redis-client.ts';
import { success } from '../../support/request-fixture.ts';

const HUGE = 'x'.repeat(1024 * 1024);

/** A workspace's Redis user may write them; those who read serve other workspaces, too. */
describe('values of requests that are longer than any function writes', () => {
  const space = useMediaWorkspace();
  const keys = () => workKeys(space.namespace);
  let id: string;

  beforeEach(async () => {
    id = await space.submitted({ idempotency: 'digest' });
    await finishRequest(space.redis, (await space.claim())!.claim, success());
  });

  /** Bytes that Redis sends for a call. */
  async function countSent(call: () => Promise<unknown>): Promise<number> {
    const read = async () => Number(/total_net_output_bytes:(\d+)/.exec(await space.redis.info('stats'))![1]);
    const before = await read();
    await call();
    return (await read()) - before;
  }
  const list = () =>
    listRequests(space.redis, { namespace: space.namespace, deployment: space.deployment, limit: 10 });
  const read = () => readRequest(space.redis, space.namespace, id);

  const cases: {
    what: string;
    write: () => Promise<unknown>;
    call: () => Promise<unknown>;
    answer: unknown;
  }[] = [
    {
      what: 'a result is left out of its request',
      write: () => space.redis.set(keys().result(id), HUGE),
      call: async () => (await read())?.output,
      answer: null,
    },
    {
      what: 'a record is unknown',
      write: () => space.redis.hset(keys().request(id), 'model', HUGE),
      call: read,
      answer: null,
    },
    {
      what: 'a record is unknown to who cancels it',
      write: () => space.redis.hset(keys().request(id), 'model', HUGE),
      call: () => space.cancel(id),
      answer: { verdict: 'unknown' },
    },
    {
      what: 'a record with a field of no meaning is unknown',
      write: () => space.redis.hset(keys().request(id), 'more', HUGE),
      call: async () => (await read())?.status,
      answer: undefined,
    },
    {
      what: 'an id is not listed',
      write: () => space.redis.zadd(keys().index(space.deployment, 'all'), '1', HUGE),
      call: async () => (await list()).map((record) => record.id === id),
      answer: [true],
    },
    {
      what: 'the request of an idempotency key is unknown',
      write: () => space.redis.set(keys().idempotency('digest'), HUGE),
      call: () => findEarlierRequest(space.redis, space.namespace, 'digest'),
      answer: null,
    },
    {
      what: 'the request of an idempotency key is unknown to who submits it again',
      write: () => space.redis.hset(keys().request(id), 'status', HUGE),
      call: async () => (await space.submit({ idempotency: 'digest' })).verdict,
      answer: 'accepted',
    },
    {
      what: 'a request that is submitted again is none',
      write: () => space.redis.hset(keys().request(id), 'status', HUGE),
      call: () => rejection(space.submit({ id })).then(String),
      answer: 'ReplyError: ERR The record of this id is not one',
    },
    {
      what: 'a deployment’s pace is unknown',
      write: () => space.redis.hset(keys().pace(space.deployment), 'average_ms', HUGE),
      call: () => readPace(space.redis, space.namespace, space.deployment),
      answer: null,
    },
  ];
  for (const { what, write, call, answer } of cases)
    it(`are not read: ${what}`, async () => {
      await write();
      let said: unknown;
      const sent = await countSent(async () => {
        said = await call();
      });
      expect(said).to.deep.equal(answer);
      expect(sent).to.be.below(100_000);
    });
});
