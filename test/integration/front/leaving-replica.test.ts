/** Requests that still reach a replica whose engine is going or gone, over connections that a load balancer kept. */
import { expect } from 'chai';
import { DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { callChat, readError } from '../../support/chat.ts';
import { DRAIN_TOKEN, describeModel } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3'];

describe('a replica that leaves', () => {
  const stack = useReplicas(describeModel({ concurrency: 4 }), ADDRESSES, { isPerTest: true });

  beforeEach(() => stack.untilPeersKnown());

  it('hands new requests to its peer while it drains, and has its engine to itself where there is none', async () => {
    const [leaving] = stack.replicas;
    const [own, peer] = stack.engines;
    const { requests: before } = await peer!.read();
    await own!.control({ ttftMs: 5_000 });
    const last = callChat(leaving!.url);
    await pollUntil(async () => (await own!.read()).inflight === 1, 'a request at its engine');
    void leaving!.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } }).catch(() => {});
    await pollUntil(async () => {
      await (await callChat(leaving!.url)).text();
      return (await peer!.read()).requests > before;
    }, 'its peer to be asked');
    const { requests } = await own!.read();
    for (let index = 0; index < 4; index++) expect((await callChat(leaving!.url)).status).to.equal(200);
    expect((await own!.read()).requests).to.equal(requests);
    expect((await last).status).to.equal(200);
    await stack.replicas[1]!.stop('SIGKILL');
    expect((await callChat(leaving!.url)).status).to.equal(200);
  });

  it('has its peer answer what reaches it right before it is killed, and answers 503 only where there is none', async () => {
    const [leaving, peer] = stack.replicas;
    await stack.engines[0]!.control({ ttftMs: 60_000 });
    const cut = callChat(leaving!.url);
    await pollUntil(async () => (await stack.engines[0]!.read()).inflight === 1, 'a request at its engine');
    void leaving!.admin('/drain', { headers: { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN } }).catch(() => {});
    const countPeers = async () =>
      Number(/ requests_total\{route="chat_completions",code="200"\} (\d+)/.exec(await readPeer())?.[1] ?? 0);
    const readPeer = async () => (await peer!.metrics()).replaceAll('berth_gateway_', ' ');
    const before = await countPeers();
    const stopped = leaving!.stop('SIGTERM');
    await pollUntil(async () => {
      expect((await callChat(leaving!.url)).status).to.equal(200);
      return (await countPeers()) > before;
    }, 'a request that the peer answers');
    await peer!.stop('SIGKILL');
    const refused = await callChat(leaving!.url).catch(() => null);
    if (refused) expect((await readError(refused)).code).to.equal('no_pod_available');
    expect((await readError(await cut)).code).to.equal('no_pod_available');
    await stopped;
  });

  it('asks its peer where its own engine no longer accepts connections', async () => {
    const [leaving] = stack.replicas;
    expect((await callChat(leaving!.url)).status).to.equal(200);
    const [, before] = await stack.countRequests();
    await stack.engines[0]!.stop('SIGKILL');
    const answer = await callChat(leaving!.url);
    expect(answer.status, await answer.text()).to.equal(200);
    expect((await stack.engines[1]!.read()).requests).to.equal(before! + 1);
  });
});
