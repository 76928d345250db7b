import { expect } from 'chai';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { pollUntil } from '../../support/poll.ts';
import { type JobStack, startJobStack } from './job-stack.ts';

describe('jobs while a replica is cordoned', () => {
  let stack: JobStack;
  let concurrency = 1;
  const countRequests = () =>
    Promise.all(stack.pods.map(async ({ engine }) => (await engine.read()).requests));
  const podNames = () => stack.pods.map(({ address }) => `pod-${address}`);
  /** Resolves when all replicas have heard of it, which their heartbeats show by another number of slots. */
  const cordon = async (cordoned: string[]) => {
    await stack.publish({ cordoned, concurrency: ++concurrency });
    await pollUntil(async () => {
      const beats = await readHeartbeats(stack.connection.redis, stack.config.namespace, stack.config.name);
      return beats.length === 2 && beats.every(({ limit }) => limit === concurrency);
    }, 'all have heard of it');
  };

  before(async () => {
    stack = await startJobStack({ kind: 'Image', jobSeconds: 0.05, pods: 2 });
  });
  after(() => stack?.stop());

  it('are claimed by its peer alone, each once, and what it runs ends there', async () => {
    for (const { engine } of stack.pods) await engine.control({ jobSeconds: 3 });
    const first = [await stack.submit(), await stack.submit()];
    for (const id of first) await stack.untilIs(id, 'running');
    // A request runs from its claim on, a moment before its engine has it.
    await pollUntil(
      async () => (await countRequests()).every((count) => count === 1),
      'both engines to work',
    );
    await cordon([podNames()[0]!]);
    for (const { engine } of stack.pods) await engine.control({ jobSeconds: 0.05 });
    const later = [];
    for (let index = 0; index < 6; index++) later.push(await stack.submit());
    for (const id of [...first, ...later]) await stack.untilIs(id, 'succeeded');
    expect(await countRequests()).to.deep.equal([1, 7]);
  });

  it('wait while all are cordoned, and are claimed when one is not any more', async () => {
    await cordon(podNames());
    const before = await countRequests();
    const id = await stack.submit();
    await cordon([podNames()[1]!]);
    await stack.untilIs(id, 'succeeded');
    const after = await countRequests();
    expect(after.map((count, index) => count - before[index]!)).to.deep.equal([1, 0]);
  });
});
