import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { bundleProgram } from '../../../bundle-program.ts';
import { publishApiKeys, publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';

const ADDRESS = '127.0.0.5';

describe('the gateway as it is built', () => {
  const parent = mkdtempSync(join(tmpdir(), 'berth-bundle-'));
  const folder = join(parent, 'gateway');
  const script = join(folder, 'main.js');
  const config = describeModel();
  let stack: TestStack;
  let engine: Engine | undefined;
  let replica: ModelReplica | undefined;
  let front: FrontProcess | undefined;

  before(async () => {
    await bundleProgram('gateway', folder);
    stack = await TestStack.start({ isStrict: true });
    await publishDeployment(stack.redis, config);
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    await publishApiKeys(stack.redis, config.namespace, new Map([[hashApiKey(API_KEY), key]]));
  });
  after(async () => {
    await Promise.all([front?.stop('SIGKILL'), replica?.stop('SIGKILL'), engine?.stop('SIGKILL')]);
    await stack?.stop();
    rmSync(parent, { recursive: true });
  });

  it('has no character that would double its size in memory', () => {
    for (const name of readdirSync(folder).filter((name) => name.endsWith('.js')))
      expect(/[^\x00-\x7f]/.test(readFileSync(join(folder, name), 'utf8')), name).to.equal(false);
  });

  it('serves a model', async () => {
    engine = await startEngine();
    const port = await findFreePort([ADDRESS]);
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config,
      address: ADDRESS,
      port,
      script,
    });
    const { url } = replica;
    await pollUntil(async () => (await callChat(url)).status === 200, 'an answer');
    await replica.stop();
  });

  it('answers for models that have no pod', async () => {
    front = await startFrontProcess({
      redisURL: stack.server.url,
      replicaPort: await findFreePort([ADDRESS]),
      script,
    });
    expect((await fetch(`${front.origin}/v1/models`)).status).to.equal(404);
    await front.stop();
  });
});
