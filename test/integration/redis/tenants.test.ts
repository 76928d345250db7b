import { expect } from 'chai';
import { channels, configKeys, globalKeys, workKeys } from '../../../api/redis-keys.ts';
import { admit, settle, uncount } from '../../../redis/admission/admission-calls.ts';
import { isRedisAway, type RedisConnection } from '../../../redis/client.ts';
import { heartbeat, leave } from '../../../redis/heartbeats/heartbeats.ts';
import { publishRequestPrefix } from '../../../redis/publication/publication.ts';
import { isKnownPrefix, readDeployment } from '../../../redis/publication/published.ts';
import {
  ensureWorkspaceUser,
  listWorkspaceUsers,
  removeWorkspaceUser,
} from '../../../redis/workspaces/users.ts';
import { describeReplica } from '../../support/heartbeat.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { TestStack } from '../../support/test-stack.ts';

const SHA256 = 'a'.repeat(64);
const KEY = { n: 'k', rpm: 10, tpd: 10, exp: 0, off: 0 as const };

describe('a workspace’s Redis user', () => {
  let stack: TestStack;
  let tenant: RedisConnection;
  const user = { namespace: 'one', username: 'ws:one', password: 'first' };
  const connectTenant = (password = user.password) =>
    connectTo(stack.server, { username: user.username, password, role: 'sidecar' });

  before(async () => {
    stack = await TestStack.start();
    for (const namespace of ['one', 'two']) {
      await publishApiKey(stack.redis, namespace, SHA256, KEY);
      await stack.redis.set(workKeys(namespace).credit, 5);
    }
    await publishRequestPrefix(stack.redis, '0a1b2c3d');
    await ensureWorkspaceUser(stack.redis, user);
    tenant = await connectTenant();
  });
  after(async () => {
    await tenant?.close();
    await stack?.stop();
  });

  it('calls every function on its own keys and reads its own configuration', async () => {
    const key = { namespace: 'one', sha256: SHA256 };
    const replica = { namespace: 'one', name: 'chat' };
    const admission = await admit(tenant.redis, { ...key, counted: 'all' });
    expect(admission.verdict).to.equal('ok');
    expect(await uncount(tenant.redis, { ...key, resetAt: admission.rpm.resetAt })).to.equal(true);
    expect((await admit(tenant.redis, { ...key, counted: 'no' })).verdict).to.equal('ok');
    expect(await settle(tenant.redis, { ...key, tokens: 1, micros: 1, token: 't' })).to.equal(true);
    const word = describeReplica({ pod: 'p' });
    expect((await heartbeat(tenant.redis, { ...replica, heartbeat: word })).beats).to.have.length(1);
    await leave(tenant.redis, { ...replica, pod: 'p' });
    expect(await readDeployment(tenant.redis, 'one', 'chat')).to.equal(null);
    expect(await isKnownPrefix(tenant.redis, '0a1b2c3d')).to.equal(true);
    expect(await isKnownPrefix(tenant.redis, 'ffffffff')).to.equal(false);
    expect(await tenant.redis.subscribe(channels.workspace('one'))).to.equal(1);
    await tenant.redis.unsubscribe();
  });

  it('is refused as the limits’ counters run over too', async () => {
    const fast = { ...KEY, rpm: 1 };
    await publishApiKey(stack.redis, 'one', 'b'.repeat(64), fast);
    const request = { namespace: 'one', sha256: 'b'.repeat(64), counted: 'all' } as const;
    await admit(tenant.redis, request);
    expect((await admit(tenant.redis, request)).verdict).to.equal('rpm');
  });

  const own = workKeys('one').rpm(SHA256);
  const marker = workKeys('one').settled('unused');
  const refused: Record<string, string[]> = {
    'read another workspace’s counter': ['GET', workKeys('two').credit],
    'write another workspace’s counter': ['SET', workKeys('two').credit, '0'],
    'read another workspace’s keys': ['HGETALL', configKeys('two').apiKeys],
    'write another workspace’s heartbeats': ['HSET', workKeys('two').heartbeats('chat'), 'p', '{}'],
    'write its own keys': ['HSET', configKeys('one').apiKeys, SHA256, '{}'],
    'remove its own keys': ['HDEL', configKeys('one').apiKeys, SHA256],
    'grant itself credit': ['HSET', configKeys('one').workspace, 'creditMicros', '9'],
    'make its own configuration expire': ['EXPIRE', configKeys('one').apiKeys, '1'],
    'read the hosts': ['HGETALL', 'g:hosts'],
    'read a prefix': ['GET', globalKeys.requestPrefix('0a1b2c3d')],
    'claim a prefix': ['SET', globalKeys.requestPrefix('0a1b2c3d'), 'one'],
    'remove a prefix': ['DEL', globalKeys.requestPrefix('0a1b2c3d')],
    'ask whether another workspace’s key exists': ['EXISTS', workKeys('two').credit],
    'read the workspaces': ['SMEMBERS', 'g:workspaces'],
    'admit in another workspace': [
      'FCALL',
      'berth_1_admit',
      '1',
      workKeys('two').rpm(SHA256),
      'two',
      SHA256,
      '1',
    ],
    'settle in another workspace behind a key of its own': [
      'FCALL',
      'berth_1_settle',
      '1',
      marker,
      'two',
      SHA256,
      '1',
      '1',
    ],
    'call a function on its own configuration': [
      'FCALL',
      'berth_1_leave',
      '1',
      configKeys('one').apiKeys,
      SHA256,
    ],
    EVAL: ['EVAL', 'return 1', '0'],
    EVAL_RO: ['EVAL_RO', 'return 1', '0'],
    EVALSHA: ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
    SCRIPT: ['SCRIPT', 'LOAD', 'return 1'],
    'FUNCTION LIST': ['FUNCTION', 'LIST'],
    'FUNCTION LOAD': ['FUNCTION', 'LOAD', '#!lua name=x\nreturn 1'],
    'FUNCTION DELETE': ['FUNCTION', 'DELETE', 'berth_1'],
    KEYS: ['KEYS', '*'],
    SCAN: ['SCAN', '0'],
    RANDOMKEY: ['RANDOMKEY'],
    DBSIZE: ['DBSIZE'],
    CONFIG: ['CONFIG', 'GET', '*'],
    FLUSHALL: ['FLUSHALL'],
    FLUSHDB: ['FLUSHDB'],
    'ACL WHOAMI': ['ACL', 'WHOAMI'],
    'ACL LIST': ['ACL', 'LIST'],
    'ACL SETUSER': ['ACL', 'SETUSER', 'ws:one', '~*'],
    INFO: ['INFO'],
    'CLIENT LIST': ['CLIENT', 'LIST'],
    'CLIENT KILL': ['CLIENT', 'KILL', 'TYPE', 'normal'],
    MONITOR: ['MONITOR'],
    SHUTDOWN: ['SHUTDOWN', 'NOSAVE'],
    SAVE: ['SAVE'],
    REPLICAOF: ['REPLICAOF', '127.0.0.1', '1'],
    MIGRATE: ['MIGRATE', '127.0.0.1', '1', own, '0', '1'],
    MODULE: ['MODULE', 'LIST'],
    SELECT: ['SELECT', '1'],
    RENAME: ['RENAME', own, 'elsewhere'],
    'PUBLISH to its own channel': ['PUBLISH', channels.workspace('one'), 'x'],
    'SUBSCRIBE to another workspace’s channel': ['SUBSCRIBE', channels.workspace('two')],
    'SUBSCRIBE to the front’s channel': ['SUBSCRIBE', channels.front],
    'PUBLISH a wake': ['PUBLISH', channels.wake, 'two/chat'],
    PSUBSCRIBE: ['PSUBSCRIBE', '*'],
    'PUBSUB CHANNELS': ['PUBSUB', 'CHANNELS'],
  };
  for (const [what, [command, ...args]] of Object.entries(refused)) {
    it(`may not: ${what}`, async () => {
      const error = await rejection(tenant.redis.call(command!, ...args));
      expect(error).to.be.an.instanceOf(Error);
      expect((error as Error).message).to.match(/^NOPERM|can't access at least one of the keys|ACL failure/);
      expect(isRedisAway(error), 'a refusal counts as away').to.equal(true);
    });
  }

  it('is told that it names the counter of another key, where it admits in another workspace behind a key of its own', async () => {
    const [answer] = (await tenant.redis.call(
      'FCALL',
      'berth_1_admit',
      '1',
      own,
      'two',
      SHA256,
      '1',
    )) as string[];
    expect(answer).to.match(/^failed .*the counter of another key/);
  });

  it('changed nothing of another’s by all that', async () => {
    expect(await stack.redis.get(workKeys('two').credit)).to.equal('5');
    expect(await stack.redis.keys('w:{two}:*')).to.deep.equal([workKeys('two').credit]);
    expect(await stack.redis.hgetall(configKeys('one').workspace)).to.deep.equal({});
  });

  it('is left alone when it is right, and set right when it is not', async () => {
    expect(await ensureWorkspaceUser(stack.redis, user)).to.equal(false);
    for (const drift of [['+@all'], ['~*'], ['&*'], ['nopass'], ['off'], ['>more'], ['-fcall']]) {
      await stack.redis.acl('SETUSER', user.username, ...drift);
      expect(await ensureWorkspaceUser(stack.redis, user), drift.join()).to.equal(true);
      expect(await ensureWorkspaceUser(stack.redis, user), drift.join()).to.equal(false);
    }
  });

  it('outlives a restart by the file of users, and is not in the clear there', async () => {
    await stack.server.restart();
    await pollUntil(() => stack.connection.state === 'up' && tenant.state === 'up', 'both connect again');
    expect(await listWorkspaceUsers(stack.redis)).to.deep.equal(['ws:one']);
    expect(JSON.stringify(await stack.redis.acl('LIST'))).to.not.include(user.password);
  });

  it('takes the new password after a change, and the old one no more', async () => {
    await ensureWorkspaceUser(stack.redis, { ...user, password: 'second' });
    await (await connectTenant('second')).close();
    const old = { username: user.username, password: 'first' };
    const error = await rejection(connectTo(stack.server, old, 300));
    expect(String(error)).to.include('WRONGPASS');
  });

  it('is cut off and gone once removed', async () => {
    const open = await connectTenant('second');
    expect(await removeWorkspaceUser(stack.redis, user.username)).to.equal(true);
    expect(await removeWorkspaceUser(stack.redis, user.username)).to.equal(false);
    await pollUntil(() => open.state === 'away', 'the open connection is cut');
    const error = await rejection(open.redis.get(own));
    expect(isRedisAway(error)).to.equal(true);
    expect(await listWorkspaceUsers(stack.redis)).to.deep.equal([]);
    await open.close();
  });

  it('is not made for a namespace whose name could match others', async () => {
    for (const namespace of ['*', 'a*', 'one}:x', '', 'One', 'a?b']) {
      const error = await rejection(ensureWorkspaceUser(stack.redis, { ...user, namespace }));
      expect(String(error)).to.include('not the name of a namespace');
    }
  });
});
