import { expect } from 'chai';
import { configKeys } from '../../../api/redis-keys.ts';
import { appendScaling, readScaling, type ScalingPoint } from '../../../redis/demand/scaling-history.ts';
import { removeDeployment } from '../../../redis/publication/publication.ts';
import { publishMedia } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const namespace = 'team';

describe('the history of scaling in Redis', () => {
  let stack: TestStack;

  before(async () => {
    stack = await TestStack.start();
  });
  after(() => stack?.stop());

  const pointAt = (minutes: number, fields: Partial<ScalingPoint> = {}): ScalingPoint => ({
    at: NOON + minutes * MINUTE,
    demand: minutes,
    wanted: 1,
    ready: 1,
    ...fields,
  });
  const append = (name: string, ...points: ScalingPoint[]) =>
    appendScaling(
      stack.redis,
      points.map((point) => ({ namespace, name, point })),
    );
  const read = (name: string, since: number) => readScaling(stack.redis, { namespace, name, since });

  it('is read from a time on, with what held before', async () => {
    const change = { from: 0, reason: 'a request waits' };
    await append('chat', pointAt(0, { change }), pointAt(10), pointAt(20, { wanted: 2 }));
    expect(await read('chat', NOON)).to.deep.equal([
      pointAt(0, { change }),
      pointAt(10),
      pointAt(20, { wanted: 2 }),
    ]);
    const late = NOON + 5 * MINUTE;
    expect(await read('chat', late)).to.deep.equal([
      { at: late, demand: 0, wanted: 1, ready: 1 },
      pointAt(10),
      pointAt(20, { wanted: 2 }),
    ]);
    expect((await read('chat', NOON + 60 * MINUTE)).map(({ wanted }) => wanted)).to.deep.equal([2]);
    expect(await read('other', NOON)).to.deep.equal([]);
  });

  it('has each point once, however often it was added because a reply was lost', async () => {
    const change = { from: 1, reason: 'a request waits' };
    for (let time = 0; time < 3; time++) await append('repeated', pointAt(0), pointAt(1, { change }));
    expect(await read('repeated', NOON)).to.deep.equal([pointAt(0), pointAt(1, { change })]);
  });

  it('keeps a day of minutes and no more, and expires', async () => {
    for (let hour = 0; hour < 48; hour++)
      await append('busy', ...Array.from({ length: 60 }, (_, minute) => pointAt(hour * 60 + minute)));
    const points = await read('busy', 0);
    expect(points.length).to.be.within(1_440, 1_600);
    expect(points.at(-1)!.demand).to.equal(2_879);
    const key = configKeys(namespace).scaling('busy');
    expect(await stack.redis.ttl(key)).to.be.within(86_400, 100_000);
    expect(await stack.redis.memory('USAGE', key)).to.be.below(100_000);
  });

  it('is not begun by a continuation', async () => {
    await appendScaling(stack.redis, [{ namespace, name: 'idle', point: pointAt(0), isContinuation: true }]);
    expect(await stack.redis.exists(configKeys(namespace).scaling('idle'))).to.equal(0);
  });

  it('goes with its deployment', async () => {
    await publishMedia(stack.redis, { namespace, name: 'gone' });
    await append('gone', pointAt(0));
    await removeDeployment(stack.redis, namespace, 'gone');
    expect(await read('gone', 0)).to.deep.equal([]);
  });
});
