import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { FUNCTIONS, LIMITS } from '../../../redis/function-table.ts';
import {
  noteRequests,
  type RecentRequest,
  readRecentRequests,
} from '../../../redis/requests/recent-requests.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';

const PLACE = { namespace: 'team', deployment: 'chat' };
const KEY = workKeys(PLACE.namespace).recent(PLACE.deployment);

/** Milliseconds of the tests' times after it; within the last day. */
const START = Date.now() - 3_600_000;
const makeRequest = (since: number, endedAt = START + since): RecentRequest => ({
  endedAt,
  id: `req-${since}`,
  route: 'chat_completions',
  status: 200,
  errorCode: null,
  durationMs: 900,
  waitMs: 15,
  firstTokenMs: 120,
  inputTokens: 30,
  outputTokens: 20,
  keyName: 'laptop',
});

describe('the latest requests in Redis', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  const note = (...times: number[]) =>
    noteRequests(
      tenant.redis,
      PLACE,
      times.map((since) => makeRequest(since)),
    );
  const read = () => readRecentRequests(stack.redis, PLACE);

  before(async () => {
    stack = await TestStack.start();
    await ensureWorkspaceUser(stack.redis, { namespace: 'team', username: 'ws:team', password: 'secret' });
    tenant = await connectTo(stack.server, { username: 'ws:team', password: 'secret', role: 'sidecar' });
  });
  beforeEach(() => stack.redis.del(KEY));
  after(async () => {
    await tenant?.close();
    await stack?.stop();
  });

  it('are read newest first, for a day, whoever noted them', async () => {
    await note(3_000, 1_000);
    await note(2_000);
    expect(await read()).to.deep.equal([3_000, 2_000, 1_000].map((since) => makeRequest(since)));
    expect(await stack.redis.ttl(KEY)).to.be.within(86_000, 86_400);
  });

  it('are bounded: the oldest go', async () => {
    for (let i = 0; i < 10; i++)
      await note(...Array.from({ length: LIMITS.MAX_NOTED_AT_ONCE }, (_, j) => 50 * i + j + 1));
    const times = (await read()).map(({ endedAt }) => endedAt - START);
    expect(times).to.have.length(LIMITS.MAX_NOTED);
    expect([times[0], times.at(-1)]).to.deep.equal([500, 201]);
    expect(await stack.redis.memory('USAGE', KEY)).to.be.below(128 * 1024);
  });

  it('are gone after a day, also while there are new ones', async () => {
    await note(1_000, -86_400_000);
    await note(2_000);
    expect(await read()).to.deep.equal([2_000, 1_000].map((since) => makeRequest(since)));
    expect(await stack.redis.zcard(KEY)).to.equal(2);
  });

  it('replace what a workspace wrote there, and are read without it', async () => {
    await tenant.redis.set(KEY, 'mine');
    expect(await read()).to.deep.equal([]);
    await note(1_000);
    for (const line of ['nonsense', '[]', '{}', '["id","r","200"]', `"${'x'.repeat(2_000)}"`])
      await tenant.redis.zadd(KEY, 1, line);
    expect(await read()).to.deep.equal([makeRequest(1_000)]);
    await tenant.redis.zadd(KEY, 1, 'x'.repeat(600_000));
    expect(await read()).to.deep.equal([]);
    await note(2_000);
    expect(await read()).to.deep.equal([makeRequest(2_000)]);
  });

  it('are refused whole where a line is no line', async () => {
    const call = tenant.redis.fcall(FUNCTIONS.noteRequests, 1, KEY, 1, 'a', 'soon', 'b');
    expect(String(await rejection(call))).to.include('Not a line of a request');
    expect(await stack.redis.exists(KEY)).to.equal(0);
  });
});
