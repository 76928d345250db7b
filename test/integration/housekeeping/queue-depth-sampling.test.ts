import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { startHousekeeping } from '../../../gateway/front/housekeeping/housekeeping.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../gateway/telemetry/metrics.ts';
import { UsageMeter } from '../../../gateway/telemetry/usage.ts';
import { submitRequest } from '../../../redis/requests/request-calls.ts';
import { readUsage } from '../../../redis/usage/usage.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const MINUTE = 60_000;
const namespace = 'team';
const log = createLog('silent');

describe('the queue of a deployment without replicas', () => {
  let stack: TestStack;
  let count = 0;
  let deployment: string;
  const running: { close(): Promise<void> }[] = [];

  before(async () => {
    stack = await TestStack.start({ isStrict: true });
  });
  beforeEach(async () => {
    deployment = `film-${++count}`;
    await publishMedia(stack.redis, { namespace, name: deployment });
    for (let index = 0; index < 3; index++)
      await submitRequest(stack.redis, submissionOf({ namespace, deployment }));
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.close()));
  });
  after(async () => {
    await stack?.stop();
  });

  const startFronts = (number: number) => {
    for (let index = 0; index < number; index++)
      running.push(
        startHousekeeping({
          connection: stack.connection,
          stores: { find: async () => null },
          log,
          metrics: createMetrics(),
        }),
      );
  };
  const readQueued = async (of = deployment) => {
    const now = Date.now();
    const question = { namespace, deployments: [of], from: now - MINUTE, to: now + MINUTE, stepSeconds: 60 };
    return Math.max(...(await readUsage(stack.redis, question)).steps.map(({ queuePeak }) => queuePeak));
  };
  /** How often it was sampled in this hour. */
  const countSamples = async (of = deployment) => {
    const { redis } = stack.connection;
    let looks = 0;
    for (const key of await redis.keys(workKeys(namespace).usage(of, 'hour', 0).replace(/0$/, '*')))
      for (const [field, value] of Object.entries(await redis.hgetall(key)))
        if (field.endsWith(':n')) looks += Number(value);
    return looks;
  };

  it('is part of the reported usage, sampled by one of all fronts', async () => {
    startFronts(3);
    await pollUntil(async () => (await readQueued()) === 3, 'what waits to be told');
    // Each front has ended its round once it is closed.
    await Promise.all(running.splice(0).map((each) => each.close()));
    expect(await countSamples()).to.equal(1);
  });

  it('is told to Prometheus by the gateway that sampled it, with the age of the oldest', async () => {
    const metrics = createMetrics();
    const meter = new UsageMeter({ redis: stack.redis, log, metrics });
    meter.of(namespace, deployment, true);
    await meter.flush();
    const text = await metrics.render();
    const labels = `{namespace="${namespace}",deployment="${deployment}"}`;
    expect(text).to.contain(`berth_queue_waiting${labels} 3\n`);
    const [, age] = new RegExp(`^berth_queue_oldest_seconds${labels} (\\S+)$`, 'm').exec(text)!;
    expect(Number(age)).to.be.within(0, 60);
    await meter.close();
  });

  it('is not sampled a second time where a replica has just done so', async () => {
    const meter = new UsageMeter({ redis: stack.redis, log });
    meter.of(namespace, deployment, true);
    await meter.flush();
    // Both are visited in one step, which has ended once the front is closed.
    const other = `${deployment}-other`;
    await publishMedia(stack.redis, { namespace, name: other });
    await submitRequest(stack.redis, submissionOf({ namespace, deployment: other }));
    startFronts(1);
    await pollUntil(async () => (await readQueued(other)) === 1, 'the other to be told of');
    await Promise.all([...running.splice(0), meter].map((each) => each.close()));
    expect(await readQueued()).to.equal(3);
    expect(await countSamples()).to.equal(1);
  });
});
