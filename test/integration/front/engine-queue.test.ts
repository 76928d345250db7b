import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { streamChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { TestStack } from '../../support/test-stack.ts';

const ADDRESS = '127.0.0.2';
const PLACES = 2;
const KEY = { n: 'test', rpm: 1_000_000, tpd: 1_000_000_000, exp: 0, off: 0 } as const;

describe('a replica whose engine runs less than it is given', () => {
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  const config = describeModel({ scaling: { min: 0, max: 2 } });
  const { namespace, name } = config;

  before(async () => {
    stack = await TestStack.start();
    engine = await startEngine({ SIMULATOR_MAX_CONCURRENCY: String(PLACES) });
    await publishApiKey(stack.redis, namespace, hashApiKey(API_KEY), KEY);
    await publishDeployment(stack.redis, config);
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
      env: { GATEWAY_ENGINE_METRICS_PATH: '/metrics' },
    });
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  });
  after(async () => {
    await replica?.stop();
    await engine?.stop();
    await stack?.stop();
  });

  const readWord = async () => (await readHeartbeats(stack.redis, namespace, name))[0]!;

  it('tells how many of its requests wait there while they do, and nothing of it at rest', async () => {
    await engine.control({ tokens: 100_000, itlMs: 20 });
    const leaving = new AbortController();
    const streams = Array.from({ length: 6 }, () => streamChat(replica.url, { signal: leaving.signal }));
    await pollUntil(async () => (await readWord()).waiting === 6 - PLACES, 'four to wait', 60_000);
    expect((await readWord()).inflight).to.equal(6);
    leaving.abort();
    await Promise.allSettled(streams);
    await pollUntil(async () => (await readWord()).inflight === 0, 'rest', 60_000);
    expect(await readWord()).not.to.have.property('waiting');
  });
});
