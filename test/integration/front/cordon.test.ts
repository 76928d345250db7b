import { expect } from 'chai';
import { Cordon } from '../../../operator/scaling/cordon.ts';
import { readDemand } from '../../../redis/demand/demand.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { describeModel } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3'];
const PODS = ADDRESSES.map((address) => `pod-${address}`);

describe('a cordoned replica', () => {
  const config = describeModel({ concurrency: 2 });
  const { namespace, name } = config;
  const stack = useReplicas(config, ADDRESSES);
  const { engines, replicas, readHeartbeats: readBeats, countRequests } = stack;

  before(() => pollUntil(async () => (await readBeats()).length === 2, 'both are known'));
  afterEach(async () => {
    await stack.control({ ttftMs: 0, itlMs: 0, tokens: 5 });
    await pollUntil(async () => (await readBeats()).every(({ inflight }) => inflight === 0), 'idle');
    await cordon([]);
    await servesItself(true);
  });

  const cordon = (cordoned: string[]) => publishDeployment(stack.redis, { ...config, cordoned });
  /** Where a request to the first replica runs. */
  const servesItself = (expected: boolean) =>
    pollUntil(
      async () => {
        const [before] = await countRequests();
        await (await callChat(replicas[0]!.url)).text();
        return ((await countRequests())[0] === before! + 1) === expected;
      },
      `the first replica ${expected ? 'serves' : 'does not serve'} itself`,
    );

  it('stays ready and hands new requests to its peer, while what it runs goes on', async () => {
    await stack.control({ ttftMs: 20, itlMs: 30, tokens: 100 });
    const running = await streamChat(replicas[0]!.url);
    await pollUntil(() => running.frames() > 1, 'the stream to run');
    await cordon([PODS[0]!]);
    await servesItself(false);
    expect((await replicas[0]!.admin('/readyz')).ok).to.equal(true);
    const before = await countRequests();
    const streams = await Promise.all([streamChat(replicas[0]!.url), streamChat(replicas[0]!.url)]);
    for (const { ended } of [running, ...streams]) expect((await ended).isWhole).to.equal(true);
    const after = await countRequests();
    expect(
      after.map((count, index) => count - before[index]!),
      'no second attempts',
    ).to.deep.equal([0, 2]);
  });

  it('serves itself what its peer has no slot for, and refuses only when both are full', async () => {
    await cordon([PODS[0]!]);
    await servesItself(false);
    await stack.control({ ttftMs: 20, itlMs: 30, tokens: 60 });
    const before = await countRequests();
    const streams = [];
    for (let index = 0; index < 4; index++) streams.push(await streamChat(replicas[0]!.url));
    expect(streams.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    expect((await readError(await callChat(replicas[0]!.url))).code).to.equal('replica_saturated');
    for (const { ended } of streams) expect((await ended).isWhole).to.equal(true);
    const after = await countRequests();
    expect(after.map((count, index) => count - before[index]!)).to.deep.equal([2, 2]);
  });

  it('is the last that a full peer asks, and serves when all are cordoned', async () => {
    await cordon([PODS[0]!]);
    await servesItself(false);
    await stack.control({ ttftMs: 20, itlMs: 30, tokens: 60 });
    const before = await countRequests();
    const streams = [];
    for (let index = 0; index < 3; index++) streams.push(await streamChat(replicas[1]!.url));
    for (const { ended } of streams) expect((await ended).isWhole).to.equal(true);
    const after = await countRequests();
    expect(after.map((count, index) => count - before[index]!)).to.deep.equal([1, 2]);
    await cordon(PODS);
    await servesItself(true);
    expect((await callChat(replicas[1]!.url)).status).to.equal(200);
  });

  it('is idle for the autoscaler while it passes on answers, of which a Service sends ever new ones', async () => {
    await cordon([PODS[0]!]);
    await servesItself(false);
    await stack.control({ ttftMs: 20, itlMs: 30, tokens: 300 });
    const { ended } = await streamChat(replicas[0]!.url);
    await pollUntil(async () => (await engines[1]!.read()).inflight === 1, 'one to be passed on');
    const pods = [{ metadata: { name: PODS[0]! } }];
    const readReplicas = async () =>
      (await readDemand(stack.redis, [`${namespace}/${name}`])).get(`${namespace}/${name}`)!.replicas;
    await pollUntil(async () => {
      const chosen = new Cordon();
      chosen.choose(pods, await readReplicas(), { count: 1, now: 0 });
      return chosen.isIdle(await readReplicas(), 60_000);
    }, 'it to be idle');
    expect((await engines[1]!.read()).inflight, 'still passed on').to.equal(1);
    expect((await ended).isWhole).to.equal(true);
  });

  it('counts no work of requests that it hands on: they count where they run, for as long as they do', async () => {
    await cordon([PODS[0]!]);
    await servesItself(false);
    await stack.control({ ttftMs: 200, itlMs: 0, tokens: 5 });
    const readCounters = async () => {
      const { replicas: all } = (await readDemand(stack.redis, [`${namespace}/${name}`])).get(
        `${namespace}/${name}`,
      )!;
      return PODS.map((pod) => all.find((each) => each.pod === pod)!);
    };
    // Each one's counter is that of its engine, as soon as it is idle and has said so.
    const readSaid = async () => {
      let counters = await readCounters();
      await pollUntil(async () => {
        const requests = await countRequests();
        counters = await readCounters();
        return counters.every(
          ({ arrivals, inflight }, index) => arrivals === requests[index] && inflight === 0,
        );
      }, 'both to say what they had to do');
      return counters;
    };
    const before = await readSaid();
    const begun = performance.now();
    for (let index = 0; index < 3; index++) await (await callChat(replicas[0]!.url)).text();
    const elapsed = performance.now() - begun;
    const after = await readSaid();
    expect(after[1]!.arrivals - before[1]!.arrivals).to.equal(3);
    expect(after[1]!.busyMs - before[1]!.busyMs).to.be.within(600, elapsed);
    expect(after[0]!.arrivals).to.equal(before[0]!.arrivals);
    expect(after.map(({ boot }) => boot)).to.deep.equal(before.map(({ boot }) => boot));
  });

  it('serves itself at once when the cordon is lifted', async () => {
    await cordon([PODS[0]!]);
    await servesItself(false);
    await cordon([]);
    await servesItself(true);
  });
});
