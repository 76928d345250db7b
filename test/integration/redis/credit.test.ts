import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { chargeWorkspace, refundWorkspace } from '../../../redis/admission/credit.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { publishWorkspace } from '../../../redis/publication/publication.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo } from '../../support/redis-client.ts';
import { newToken } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

describe('the charge of a workspace', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  const namespace = 'one';
  const charge = async (micros: number, token = newToken()) =>
    (await chargeWorkspace(tenant.redis, { namespace, token, micros })) === null;
  const refund = (token: string) => refundWorkspace(tenant.redis, { namespace, token });
  const spent = async () => Number((await stack.redis.get(workKeys(namespace).credit)) ?? 0);
  const grant = (creditMicros: number | null) => publishWorkspace(stack.redis, namespace, { creditMicros });

  before(async () => {
    stack = await TestStack.start();
    const user = { namespace, username: 'ws:one', password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(stack.server, { ...user, role: 'sidecar' });
  });
  beforeEach(() => stack.redis.flushdb());
  after(async () => {
    await tenant?.close();
    await stack?.stop();
  });

  it('takes what the credit covers and refuses what it does not', async () => {
    await grant(100);
    expect(await charge(60)).to.equal(true);
    expect(await charge(41)).to.equal(false);
    expect(await charge(40)).to.equal(true);
    expect(await charge(0), 'nothing is left').to.equal(false);
    expect(await spent()).to.equal(100);
  });

  it('takes without end where no credit is set', async () => {
    expect(await charge(5_000_000_000)).to.equal(true);
    expect(await charge(0)).to.equal(true);
    expect(await spent()).to.equal(5_000_000_000);
  });

  it('never takes more than is granted from many at once', async () => {
    await grant(100);
    const taken = await Promise.all(Array.from({ length: 50 }, () => charge(9)));
    expect(taken.filter(Boolean)).to.have.length(11);
    expect(await spent()).to.equal(99);
  });

  it('can be given back for as long as its caller says, within bounds', async () => {
    const day = 86_400;
    for (const [asked, held] of [
      [undefined, 1_200],
      [60, 1_200],
      [3 * day, 3 * day],
      [1e9, 25 * day],
    ] as const) {
      const token = newToken();
      await chargeWorkspace(tenant.redis, { namespace, token, micros: 1, rememberSeconds: asked });
      const left = await stack.redis.ttl(workKeys(namespace).charged(token));
      expect(left, `${asked} s`).to.be.within(held - 60, held);
    }
  });

  it('charges and refunds once, however often it is called', async () => {
    await grant(100);
    const token = newToken();
    for (let i = 0; i < 2; i++) expect(await charge(60, token)).to.equal(true);
    expect(await spent()).to.equal(60);
    expect(await refund(token)).to.equal(true);
    expect(await refund(token)).to.equal(false);
    expect(await spent()).to.equal(0);
    expect(await charge(60, token), 'a late repeat').to.equal(true);
    expect(await spent()).to.equal(0);
  });

  it('takes nothing when the refund came before it', async () => {
    const token = newToken();
    expect(await refund(token)).to.equal(false);
    expect(await charge(60, token)).to.equal(true);
    expect(await refund(token)).to.equal(false);
    expect(await spent()).to.equal(0);
  });

  it('is not remembered for ever', async () => {
    const token = newToken();
    await charge(60, token);
    const ttl = () => stack.redis.ttl(workKeys(namespace).charged(token));
    expect(await ttl()).to.be.within(1170, 1200);
    await refund(token);
    expect(await ttl()).to.be.within(1170, 1200);
  });
});
