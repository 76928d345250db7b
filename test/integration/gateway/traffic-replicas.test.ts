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
  const v2 = describeModel(
    { concurrency: 4, pricing: { perMillionOutputTokens: '1000' } },
    { name: 'chat-v2' },
  );
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
  const ask = (content: string, body: object = {}) =>
    fetch(`${entry.url}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        'x-berth-receipt': 'true',
      },
      body: JSON.stringify({ messages: [{ role: 'user', content }], ...body }),
    });
  /** Who answers this many conversations. */
  const askMany = async (count: number): Promise<string[]> => {
    const answered: string[] = [];
    for (let index = 0; index < count; index++) {
      const response = await ask(`Conversation ${index}`);
      expect(response.status).to.equal(200);
      await response.text();
      answered.push(response.headers.get(VERSION) ?? '');
    }
    return answered;
  };
  /** Publishes it, and waits until the gateway applies it. */
  const setWeight = async (weight: number | null) => {
    const traffic = weight === null ? undefined : [{ deployment: 'chat-v2', weight }];
    await publishDeployment(stack.redis, { ...chat, ...(traffic && { traffic }) });
    const expected = weight === null ? null : weight === 100 ? 'chat-v2' : 'chat';
    if (weight === null || weight === 0 || weight === 100)
      await pollUntil(async () => {
        const response = await ask('Which version?');
        await response.text();
        return response.headers.get(VERSION) === expected;
      }, `a weight of ${weight} to apply`);
  };

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
  beforeEach(() => Promise.all(engines.map((engine) => engine.reset())));

  it('names no version, and sends nothing there, without traffic', async () => {
    await setWeight(null);
    const before = (await engines[1]!.read()).requests;
    expect(await askMany(5)).to.deep.equal(['', '', '', '', '']);
    expect((await engines[1]!.read()).requests).to.equal(before);
  });

  it('answers all at the version with all of the weight, at its own price and with its own receipt', async () => {
    await setWeight(100);
    const response = await ask('Hi', { stream: true });
    expect(response.headers.get(VERSION)).to.equal('chat-v2');
    const text = await response.text();
    expect(text).to.match(/\[DONE\]\s*$/);
    // v2's own price would be charged by the token.
    expect(text).to.match(/: receipt \{"cost":"0","tokens":\d+,"version":"chat-v2"\}/);
  });

  it('keeps each conversation at its version', async () => {
    await setWeight(0);
    await publishDeployment(stack.redis, { ...chat, traffic: [{ deployment: 'chat-v2', weight: 50 }] });
    await pollUntil(async () => (await askMany(12)).includes('chat-v2'), 'a weight of 50 to apply');
    const first = await askMany(30);
    expect(first.filter((version) => version === 'chat-v2')).to.have.length.within(5, 25);
    expect(await askMany(30)).to.deep.equal(first);
  });

  it('names the version in errors, its own and those of the other engine', async () => {
    await setWeight(100);
    const invalid = await ask('Hi', { temperature: 'hot' });
    expect([invalid.status, invalid.headers.get(VERSION)]).to.deep.equal([400, 'chat']);
    await engines[1]!.control({ fault: { kind: 'status', status: 500 }, faultTimes: 2 });
    for (const stream of [false, true]) {
      const failed = await ask('Hi', { stream });
      expect([failed.status, failed.headers.get(VERSION)]).to.deep.equal([502, 'chat-v2']);
      await failed.text();
    }
    // They say nothing of this deployment's own engine.
    expect(await entry.metrics()).not.to.match(/engine_errors_total\{reason="upstream_error"\}/);
    expect(await entry.metrics()).to.match(/version_requests_total\{version="chat-v2",code="502"\} 2/);
  });

  it('answers here while the version is full', async () => {
    await setWeight(100);
    await publishDeployment(stack.redis, { ...chat, traffic: [{ deployment: 'chat-v2', weight: 100 }] });
    await engines[1]!.control({ itlMs: 200 });
    const streams = await Promise.all(
      Array.from({ length: 4 }, (_, index) => ask(`Long ${index}`, { stream: true, max_tokens: 50 })),
    );
    expect(streams.map(({ headers }) => headers.get(VERSION))).to.deep.equal(Array(4).fill('chat-v2'));
    const response = await ask('One more');
    expect([response.status, response.headers.get(VERSION)]).to.deep.equal([200, 'chat']);
    await Promise.all(streams.map((stream) => stream.body!.cancel()));
  });

  it('answers here once the version is gone, and there when it is back', async () => {
    await setWeight(100);
    await member.stop('SIGKILL');
    const statuses = new Set<number>();
    for (let index = 0; index < 5; index++) {
      const response = await ask(`After the end ${index}`);
      statuses.add(response.status);
      expect(response.headers.get(VERSION)).to.equal('chat');
    }
    expect([...statuses]).to.deep.equal([200]);
    member = await startMember();
    await setWeight(100);
  });
});
