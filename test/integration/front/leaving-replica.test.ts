/** Requests that still reach a replica whose engine goes or has just gone, over connections that a balancer kept. */
import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { callChat } from '../../support/chat.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { DRAIN_TOKEN, describeModel } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { type Replicas, startReplicas } from '../../support/replicas.ts';
import { TestStack } from '../../support/test-stack.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3'];

describe('a replica that leaves', () => {
  let stack: TestStack;
  let started: Replicas;
  const config = describeModel({ concurrency: 4 });

  beforeEach(async () => {
    stack = await TestStack.start();
    started = await startReplicas(stack, config, ADDRESSES);
    const { replicas } = started;
    for (const replica of replicas) await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
    const readBeats = () => readHeartbeats(stack.redis, config.namespace, config.name);
    await pollUntil(
      async () => (await readBeats()).filter(({ ready }) => ready).length === 2,
      'both are known',
    );
  });
  afterEach(async () => {
    await started?.stop();
    await stack?.stop();
  });

  it('hands new requests to its peer while it drains, and has its engine to itself where there is none', async () => {
    const [leaving] = started.replicas;
    const [own, peer] = started.engines;
    await own!.control({ ttftMs: 5_000 });
    const last = callChat(leaving!.url);
    await pollUntil(async () => (await own!.read()).inflight === 1, 'a request at its engine');
    void leaving!.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } }).catch(() => {});
    await pollUntil(async () => {
      await (await callChat(leaving!.url)).text();
      return (await peer!.read()).requests > 0;
    }, 'its peer to be asked');
    const { requests } = await own!.read();
    for (let index = 0; index < 4; index++) expect((await callChat(leaving!.url)).status).to.equal(200);
    expect((await own!.read()).requests).to.equal(requests);
    expect((await last).status).to.equal(200);
    await started.replicas[1]!.stop('SIGKILL');
    expect((await callChat(leaving!.url)).status).to.equal(200);
  });

  it('asks its peer where its own engine takes no connection any more', async () => {
    const [leaving] = started.replicas;
    expect((await callChat(leaving!.url)).status).to.equal(200);
    await started.engines[0]!.stop('SIGKILL');
    const answer = await callChat(leaving!.url);
    expect(answer.status, await answer.text()).to.equal(200);
    expect((await started.engines[1]!.read()).requests).to.equal(1);
  });
});
