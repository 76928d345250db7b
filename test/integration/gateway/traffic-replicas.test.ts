import { expect } from 'chai';
import { publishDeployment, publishReplicas } from '../../../redis/publication/publication.ts';
import { findFreePort } from '../../support/child-program.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishModel } from '../../support/replica-stack.ts';
import { TestStack } from '../../support/test-stack.ts';

const STORAGE = { url: 'http://127.0.0.1:9', token: 'workspace-token', requestPrefix: '00000000' };
const [CHAT_ADDRESS, V2_ADDRESS] = ['127.0.0.61', '127.0.0.62'] as const;
const VERSION = 'x-berth-version';

describe('replicas whose conversations another deployment’s replica shares', () => {
  const chat = describeModel({ concurrency: 4 });
  const v2 = { ...describeModel({ concurrency: 4 }, { name: 'chat-v2' }), trafficFrom: ['chat'] };
  let stack: TestStack;
  let engines: Engine[];
  let entry: ModelReplica;
  let member: ModelReplica;
  let port: number;

  const startMember = () =>
    startReplica({
      redisURL: stack.server.url,
      engineURL: engines[1]!.url,
      config: v2,
      address: V2_ADDRESS,
      port,
      storage: STORAGE,
      peerToken: 'of-v2',
    });
  const ask = (content: string) =>
    fetch(`${entry.url}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ messages: [{ role: 'user', content }] }),
    });
  /** Waits until this version answers. */
  const awaitVersion = (name: string) =>
    pollUntil(async () => {
      const response = await ask('Which version?');
      await response.text();
      return response.headers.get(VERSION) === name;
    }, `${name} to answer`);

  before(async () => {
    stack = await TestStack.start();
    await publishModel(stack.redis, chat);
    await publishDeployment(stack.redis, v2);
    engines = await Promise.all([startEngine(), startEngine()]);
    port = await findFreePort([CHAT_ADDRESS, V2_ADDRESS]);
    const options = { redisURL: stack.server.url, port, storage: STORAGE };
    entry = await startReplica({
      ...options,
      engineURL: engines[0]!.url,
      config: chat,
      address: CHAT_ADDRESS,
    });
    member = await startMember();
    await publishReplicas(stack.redis, 'team', 'chat-v2', [V2_ADDRESS]);
    for (const replica of [entry, member])
      await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  });
  after(async () => {
    await Promise.all([entry, member, ...(engines ?? [])].map((part) => part?.stop('SIGKILL')));
    await stack?.stop();
  });

  it('answers here once the version is gone, and there when it is back', async () => {
    await publishDeployment(stack.redis, { ...chat, traffic: [{ deployment: 'chat-v2', weight: 100 }] });
    await awaitVersion('chat-v2');
    await member.stop('SIGKILL');
    const statuses = new Set<number>();
    for (let index = 0; index < 5; index++) {
      const response = await ask(`After the end ${index}`);
      statuses.add(response.status);
      expect(response.headers.get(VERSION)).to.equal('chat');
    }
    expect([...statuses]).to.deep.equal([200]);
    member = await startMember();
    await awaitVersion('chat-v2');
  });
});
