import { expect } from 'chai';
import { channels, workKeys } from '../../../api/redis-keys.ts';
import { chargeWorkspace } from '../../../redis/admission/credit.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { FUNCTIONS } from '../../../redis/function-table.ts';
import { claimRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readRequest } from '../../../redis/requests/request-record.ts';
import { ensureWorkspaceUser } from '../../../redis/workspaces/users.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';

/** That every function works for a workspace's user is what the model's steps show: one takes them. */
describe('requests and another workspace’s Redis user', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  const deployment = 'film';
  const victim = { id: '', token: newToken() };
  const own = workKeys('one');
  const other = workKeys('two');

  before(async () => {
    stack = await TestStack.start();
    for (const namespace of ['one', 'two']) await publishMedia(stack.redis, { namespace, name: deployment });
    const user = { namespace: 'one', username: 'ws:one', password: 'secret' };
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTo(stack.server, { ...user, role: 'sidecar' });
    await chargeWorkspace(tenant.redis, { namespace: 'one', token: 'taken', micros: 5 });
    const submission = submissionOf({ namespace: 'two', deployment });
    victim.id = submission.id;
    await submitRequest(stack.redis, submission);
    await claimRequest(stack.redis, { namespace: 'two', deployment, token: victim.token, pod: 'pod' });
    await submitRequest(stack.redis, submissionOf({ namespace: 'two', deployment }));
  });
  after(async () => {
    await tenant?.close();
    await stack?.stop();
  });

  /** Each call of a function on the other workspace, with the key declared that the function would take. */
  const calls = (): Record<string, { name: string; key: string; honest: string; args: string[] }> => {
    const { id, token } = victim;
    const onRecord = { key: own.request(id), honest: other.request(id) };
    return {
      submit: {
        name: FUNCTIONS.submit,
        ...onRecord,
        args: [
          'two',
          'req_x',
          deployment,
          'video',
          'a'.repeat(24),
          '',
          '0',
          '1',
          '1000',
          '{}',
          '',
          'model',
          'm',
        ],
      },
      claim: {
        name: FUNCTIONS.claim,
        key: own.turns(deployment),
        honest: other.turns(deployment),
        args: ['two', deployment, newToken(), '6000', 'pod'],
      },
      charge: {
        name: FUNCTIONS.charge,
        key: own.charged('t'),
        honest: other.charged('t'),
        args: ['two', '5'],
      },
      refund: {
        name: FUNCTIONS.refund,
        key: own.charged('taken'),
        honest: other.charged('taken'),
        args: ['two'],
      },
      renew: { name: FUNCTIONS.renew, ...onRecord, args: ['two', id, token, '6000', '5'] },
      finish: {
        name: FUNCTIONS.finish,
        ...onRecord,
        args: ['two', id, token, 'failed', 'x', 'y', '', '', '', '', ''],
      },
      release: { name: FUNCTIONS.release, ...onRecord, args: ['two', id, token] },
      cancel: { name: FUNCTIONS.cancel, ...onRecord, args: ['two', id, token] },
      read: { name: FUNCTIONS.read, ...onRecord, args: ['two', id] },
      list: {
        name: FUNCTIONS.list,
        key: other.index(deployment, 'all'),
        honest: other.index(deployment, 'all'),
        args: ['5'],
      },
      pace: { name: FUNCTIONS.pace, key: other.pace(deployment), honest: other.pace(deployment), args: [] },
      sweep: { name: FUNCTIONS.sweep, key: own.leases, honest: other.leases, args: ['two', '10', '1'] },
      registerObjects: {
        name: FUNCTIONS.registerObjects,
        key: other.cleanup,
        honest: other.cleanup,
        args: ['0', 'x'],
      },
      takeDue: { name: FUNCTIONS.takeDue, key: other.outbox, honest: other.outbox, args: ['10', '1000'] },
    };
  };

  for (const name of Object.keys(calls())) {
    it(`${name} is refused to it, behind a key of its own or not, and changes nothing`, async () => {
      const call = calls()[name]!;
      const before = await readAll();
      for (const key of [call.honest, call.key]) {
        const error = await rejection(tenant.redis.fcall(call.name, 1, key, ...call.args));
        // A renewal reads its declared key alone, so behind its own key there is nothing of another's to reach.
        if (name === 'renew' && key === call.key) continue;
        expect(String(error), key).to.match(
          /NOPERM|can't access at least one of the keys|can't run this|ACL failure/,
        );
      }
      expect(await readAll()).to.deep.equal(before);
    });
  }

  async function readAll(): Promise<unknown> {
    const keys = (await stack.redis.keys('w:{two}:*')).filter((key) => !key.includes(':claimed:')).sort();
    return [keys, await readRequest(stack.redis, 'two', victim.id)];
  }

  for (const [what, command, channel, allowed] of [
    ['announce jobs of its own', 'PUBLISH', channels.jobs('one', deployment), true],
    ['announce jobs of another', 'PUBLISH', channels.jobs('two', deployment), false],
    ['announce a change of its configuration', 'PUBLISH', channels.workspace('one'), false],
    ['announce events of another', 'PUBLISH', channels.events('two'), false],
    ['hear jobs of its own', 'SUBSCRIBE', channels.jobs('one', deployment), true],
    ['hear jobs of another', 'SUBSCRIBE', channels.jobs('two', deployment), false],
    ['hear events', 'SUBSCRIBE', channels.events('one'), false],
  ] as const) {
    it(`${allowed ? 'may' : 'may not'} ${what}`, async () => {
      const line = await connectTo(stack.server, { username: 'ws:one', password: 'secret', role: 'sidecar' });
      const args = command === 'PUBLISH' ? [channel, '1'] : [channel];
      const error = await rejection(line.redis.call(command, ...args));
      await line.close();
      if (allowed) expect(error).to.equal(undefined);
      else expect(String(error)).to.match(/NOPERM/);
    });
  }

  it('is set right when its selector is not', async () => {
    const user = { namespace: 'one', username: 'ws:one', password: 'secret' };
    expect(await ensureWorkspaceUser(stack.redis, user)).to.equal(false);
    for (const drift of [['(+publish &*)'], ['clearselectors'], ['(~* +get)']]) {
      await stack.redis.acl('SETUSER', user.username, ...drift);
      expect(await ensureWorkspaceUser(stack.redis, user), drift.join()).to.equal(true);
      expect(await ensureWorkspaceUser(stack.redis, user), drift.join()).to.equal(false);
    }
  });
});
