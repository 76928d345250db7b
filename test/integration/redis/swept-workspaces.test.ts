import { expect } from 'chai';
import { deliveryKeys } from '../../../api/redis-keys.ts';
import { readDeliveryLog } from '../../../redis/deliveries/delivery-log.ts';
import { removeWorkspace } from '../../../redis/publication/publication.ts';
import { registerObjects, unregisterObjects } from '../../../redis/requests/object-cleanup.ts';
import { forgetSwept, listSweptWorkspaces } from '../../../redis/workspaces/swept-workspaces.ts';
import { publishMedia } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('workspaces that are swept', () => {
  let stack: TestStack;
  const objects = [{ credential: null, key: 'results/a/req_1/token/0.png' }];
  before(async () => {
    stack = await TestStack.start();
  });
  beforeEach(async () => {
    await stack.redis.flushdb();
    for (const namespace of ['a', 'b']) await publishMedia(stack.redis, { namespace, name: 'film' });
  });
  after(async () => {
    await stack?.stop();
  });

  it('are all that are published', async () => {
    expect(await listSweptWorkspaces(stack.redis)).to.deep.equal(['a', 'b']);
    expect(await forgetSwept(stack.redis, 'a')).to.equal(false);
  });

  it('are also those that went, until nothing is left of them', async () => {
    await listSweptWorkspaces(stack.redis);
    await registerObjects(stack.redis, 'a', { objects, removeInMs: 0 });
    await removeWorkspace(stack.redis, 'a');
    expect(await listSweptWorkspaces(stack.redis)).to.deep.equal(['a', 'b']);
    expect(await forgetSwept(stack.redis, 'a')).to.equal(false);
    await unregisterObjects(stack.redis, 'a', objects);
    expect(await forgetSwept(stack.redis, 'a')).to.equal(true);
    expect(await listSweptWorkspaces(stack.redis)).to.deep.equal(['b']);
  });

  it('leave no delivery to the next workspace of their name', async () => {
    const keys = deliveryKeys('a');
    await stack.redis.zadd(keys.log, 1, 'dlv_1');
    await stack.redis.hset(keys.delivery('dlv_1'), { event: 'evt_1', state: 'delivered' });
    await listSweptWorkspaces(stack.redis);
    expect(await forgetSwept(stack.redis, 'a')).to.equal(false);
    expect(await readDeliveryLog(stack.redis, 'a')).to.have.length(1);
    await removeWorkspace(stack.redis, 'a');
    expect(await forgetSwept(stack.redis, 'a')).to.equal(true);
    expect(await stack.redis.keys('d:{a}:*')).to.deep.equal([]);
  });
});
