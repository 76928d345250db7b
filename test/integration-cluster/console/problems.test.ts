import { expect } from 'chai';
import { configKeys, workKeys } from '../../../api/redis-keys.ts';
import type { ProblemsView } from '../../../console/api.ts';
import { pollUntil } from '../../support/poll.ts';
import { useConsole } from './console-harness.ts';
import { useEndpoint } from './endpoint-fixture.ts';

const MINUTE_MS = 60_000;

describe("the console's problems", () => {
  const console = useConsole();
  const fixture = useEndpoint(console);
  const read = async () =>
    (await fixture.someone.call('GET', `${fixture.base}/problems`)).body as ProblemsView;

  it('are none, then what is read of objects and counters, with their total', async () => {
    const { namespace, someone, base } = fixture;
    expect(await read()).to.deep.equal({ problems: [], total: 0 });
    const { redis } = console.redis;
    const keys = workKeys(namespace);
    const queuedAt = Date.now() - 40 * MINUTE_MS;
    await redis.zadd(keys.index('llm', 'queued'), queuedAt * 1_000, `req_${'a'.repeat(32)}`);
    await redis.hset(configKeys(namespace).workspace, 'creditMicros', 1_000_000);
    await redis.set(keys.credit, 1_000_000);
    await someone.call('POST', `${base}/keys`, { name: 'busy', rpm: 5 });
    const root = `/apis/berth.dev/v1alpha1/namespaces/${namespace}`;
    const { spec } = (await console.kube('GET', `${root}/apikeys/busy`)).body;
    await redis.set(keys.rpm(spec.sha256), 5);
    const condition = { type: 'Ready', status: 'False', reason: 'ReplicaFailure', message: 'no quota' };
    const at = new Date().toISOString();
    const conditions = [{ ...condition, lastTransitionTime: at, observedGeneration: 1 }];
    const path = `${root}/modeldeployments/llm/status`;
    expect((await console.kube('PATCH', path, { status: { conditions } })).status).to.equal(200);
    await pollUntil(async () => (await read()).total === 4, 'the answer to be fresh');
    const { problems } = await read();
    expect(problems.map(({ kind, name, title }) => [kind, name, title])).to.deep.equal([
      ['credit', '', 'Credit used up'],
      ['deployment', 'llm', 'Failing'],
      ['queue', 'llm', 'Old queue'],
      ['key', 'busy', 'Limit reached'],
    ]);
  });

  it('are of what the user may read', async () => {
    const stranger = await console.makeMember();
    const answer = await fixture.someone.call('GET', `/api/namespaces/${stranger.namespace}/problems`);
    expect([answer.status, answer.body]).to.deep.equal([200, { problems: [], total: 0 }]);
  });
});
