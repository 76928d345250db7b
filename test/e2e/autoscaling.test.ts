import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { expectError, postChat } from './envelope.ts';
import {
  deploySimulator,
  kubectl,
  listModelPods,
  patchModel,
  readModel,
  removeModel,
  waitUntil,
} from './installation.ts';
import { listInflight } from './media.ts';

const STARTUP_SECONDS = 6;
/** Short, so that replicas come and go within the tests: most of the time is that of starts. */
const SCALING = { min: 0, max: 3, targetConcurrency: 2, stableWindow: '6s', idleTimeout: '6s' };
/** Slots of a replica. */
const SLOTS = 4;
/** For each of a response's four tokens: long enough to read what is in flight. */
const TOKEN_MS = 150;
const HOLD = { mode: 'Hold', holdFor: '120s' };

const waitForZero = (name: string) =>
  waitUntil(`${name} to have no pod`, 240, async () => (await listModelPods(name)).length === 0);

describe('a model that scales to zero', function () {
  this.timeout(600_000);
  const name = 'sleepy';
  let endpoint: EndpointEntry;
  before(async () => {
    const env = {
      SIMULATOR_STARTUP_SECONDS: String(STARTUP_SECONDS),
      SIMULATOR_ITL_MS: String(TOKEN_MS),
    };
    const scaling = { ...SCALING, coldStart: HOLD };
    endpoint = await deploySimulator(name, { env, concurrency: SLOTS, scaling });
    await waitUntil(
      'its address to be known',
      60,
      async () => (await readModel(name)).status?.url !== undefined,
    );
  });
  after(() => removeModel(name));

  it('has no pod until somebody asks', async () => {
    expect(await listModelPods(name)).to.deep.equal([]);
    expect((await readModel(name)).status.replicas ?? 0).to.equal(0);
  });

  it('holds the first request until its replica is ready, and answers it', async () => {
    const answer = await postChat(endpoint);
    const answeredAt = Date.now();
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    const [pod] = await listModelPods(name);
    const ready = pod!.status.conditions!.find(({ type }) => type === 'Ready')!;
    // Conditions have whole seconds.
    const afterReadyMs = answeredAt - Date.parse(ready.lastTransitionTime!);
    console.log(`        answered ${afterReadyMs} ms after the second in which the pod was ready`);
    expect(await kubectl('describe', 'md', name)).to.match(/Scaled .* scaled from 0 to 1 replicas: \S/);
  });

  it('goes back to zero once it is idle', () => waitForZero(name));

  it('answers each of 105 requests that find it cold, never more at a time than it has slots', async () => {
    await waitForZero(name);
    const startedAt = performance.now();
    let isOver = false;
    let most = 0;
    const asked = Promise.all(Array.from({ length: 105 }, () => postChat(endpoint))).finally(() => {
      isOver = true;
    });
    const watched = waitUntil('the last answer', 300, async () => {
      // A replica that goes does not tell.
      most = Math.max(most, ...(await listInflight(endpoint).catch(() => [])));
      return isOver;
    });
    const [answers] = await Promise.all([asked, watched]);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    console.log(
      `        ${answers.length} answers after ${seconds} s; at most ${most} at a time at an engine`,
    );
    const statuses = answers.map(({ status, body }) => (status === 200 ? 200 : JSON.stringify(body)));
    expect(statuses.filter((status) => status !== 200)).to.deep.equal([]);
    expect(most).to.be.within(1, SLOTS);
  });

  it('says how long the start will take where requests are not held', async () => {
    await patchModel(name, { scaling: { coldStart: { mode: 'Reject' } } });
    await waitForZero(name);
    const refused = await postChat(endpoint);
    expectError(refused, 503, 'no_pod_available');
    expect(Number(refused.headers.get('retry-after'))).to.be.within(5, 60);
    await waitUntil('an answer', 120, async () => (await postChat(endpoint)).status === 200);
  });
});
