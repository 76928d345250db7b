/** Deployments at zero whose engine takes half a minute to start: what clients wait for beyond that. */
import { loadavg } from 'node:os';
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { deploySimulator, kubectl, readModel, removeModel, waitUntil } from '../e2e/installation.ts';
import { callChat } from '../support/chat.ts';
import { describeSpread, say } from './figures.ts';
import { type LivePods, toUnixMs, watchLivePods } from './live-pods.ts';
import { SLEEPERS, STARTS, STARTUP_SECONDS } from './settings.ts';

/** After the first, by which the next ones are judged. */
const REFUSED_STARTS = Math.min(4, STARTS);
/** Short, so that they go soon after they have answered. */
const SCALING = { min: 0, max: 1, stableWindow: '5s', idleTimeout: '5s' };
const RETRY_AFTER_TOLERANCE = 0.2;
/** Later than this after its engine's health, a pod is counted as late. */
const MAX_READINESS_MS = 300;

describe(`deployments at zero whose engine starts in ${STARTUP_SECONDS} s, on a cluster`, function () {
  this.timeout(3_600_000);
  const sleepers = Array.from({ length: SLEEPERS }, (_, index) => `sleeper-${index}`);
  const endpoints = new Map<string, EndpointEntry>();
  let pods: LivePods;

  before(async () => {
    pods = watchLivePods();
    const env = { SIMULATOR_STARTUP_SECONDS: String(STARTUP_SECONDS) };
    const deploy = async (name: string, coldStart: object) => {
      endpoints.set(name, await deploySimulator(name, { env, scaling: { ...SCALING, coldStart } }));
      await waitUntil(
        `the address of ${name}`,
        60,
        async () => (await readModel(name)).status?.url !== undefined,
      );
    };
    for (const name of sleepers) await deploy(name, { mode: 'Hold', holdFor: '5m' });
    await deploy('rejecting', { mode: 'Reject' });
  });
  after(async () => {
    for (const name of [...sleepers, 'rejecting']) await removeModel(name);
    await pods?.close();
  });

  /** Over a connection of its own, as curl's is. */
  const chat = async (name: string) => {
    const { baseURL, apiKey, modelId } = endpoints.get(name)!;
    const { host } = new URL(baseURL);
    const body = { model: modelId, max_tokens: 4 };
    const answer = await callChat(baseURL, { host, key: apiKey, body });
    const text = await answer.text();
    return { status: answer.status, text, headers: answer.headers, answeredAt: performance.now() };
  };
  const untilReady = async (name: string) => {
    await waitUntil(
      `a ready pod of ${name}`,
      STARTUP_SECONDS + 300,
      async () => pods.present(name)[0]?.readyAt !== undefined,
    );
    return pods.present(name)[0]!;
  };

  it('answer what they held once their replica is ready, which it is once its engine is', async () => {
    const answerMs: number[] = [];
    const addedMs: number[] = [];
    const readinessMs: number[] = [];
    const startMs: number[] = [];
    const startOne = async (name: string) => {
      await pods.untilGone(name);
      const { status, text, answeredAt } = await chat(name);
      expect(status, text).to.equal(200);
      const { pod, createdAt, readyAt } = await untilReady(name);
      const healthyAt = await readEngineStart(pod);
      answerMs.push(answeredAt - readyAt!);
      addedMs.push(toUnixMs(answeredAt) - healthyAt);
      readinessMs.push(toUnixMs(readyAt!) - healthyAt);
      startMs.push(readyAt! - createdAt);
    };
    while (answerMs.length < STARTS) await Promise.all(sleepers.map(startOne));
    say(`${SLEEPERS} starts at a time; load average ${loadavg().map((load) => load.toFixed(1))}`);
    say(`from the pod's creation to its readiness: ${describeSpread(startMs)}`);
    const late = readinessMs.filter((ms) => ms > MAX_READINESS_MS).length;
    say(
      `ready after the engine's health: ${describeSpread(readinessMs)}, ${late} after ${MAX_READINESS_MS} ms`,
    );
    say(`Hold: answered after the pod's readiness: ${describeSpread(answerMs)}`);
    say(`Hold: answered after the engine's health: ${describeSpread(addedMs)}`);
    expect(answerMs).to.have.length.at.least(STARTS);
  });

  it('say how long the next start takes, within a fifth', async () => {
    const name = 'rejecting';
    const ratios: number[] = [];
    for (let start = 0; start <= REFUSED_STARTS; start++) {
      await pods.untilGone(name);
      const askedAt = performance.now();
      const refused = await chat(name);
      expect(refused.status, refused.text).to.equal(503);
      const promised = Number(refused.headers.get('retry-after'));
      await waitUntil('an answer', STARTUP_SECONDS + 300, async () => (await chat(name)).status === 200);
      const took = (performance.now() - askedAt) / 1_000;
      say(`Retry-After ${promised}, took ${took.toFixed(1)} s${start === 0 ? ' (nothing learned yet)' : ''}`);
      if (start > 0) ratios.push(promised / took);
    }
    say(`Retry-After to what the start took: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`);
    for (const ratio of ratios) expect(Math.abs(ratio - 1)).to.be.at.most(RETRY_AFTER_TOLERANCE);
  });
});

/** Unix milliseconds at which the gateway saw the engine become healthy. */
async function readEngineStart(pod: string): Promise<number> {
  const log = await kubectl('logs', pod, '-c', 'gateway');
  const line = log.split('\n').find((text) => text.includes('"engine is healthy"'));
  expect(line, log.slice(-1_000)).to.be.a('string');
  return Date.parse((JSON.parse(line!) as { time: string }).time);
}
