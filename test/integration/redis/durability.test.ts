import { expect } from 'chai';
import { isRedisAway, type RedisConnection } from '../../../redis/client.ts';
import { readServerHealth, STRICT_COMMAND_MS } from '../../../redis/durability.ts';
import { inspectRedis } from '../../../redis/inspection.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { claimRequest, finishRequest, submitRequest } from '../../../redis/request-calls.ts';
import { readRequest } from '../../../redis/request-record.ts';
import { ensureWorkspaceUser } from '../../../redis/users.ts';
import { connectTo, rejection } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { newToken, publishMedia, submissionOf, success } from '../../support/request-fixture.ts';

const namespace = 'one';
const deployment = 'film';
const user = { namespace, username: 'ws:one', password: 'secret' };
const strict = { durability: 'strict' } as const;

describe('durability', function () {
  this.timeout(20_000);
  let server: RedisServer;
  let admin: RedisConnection;
  let tenant: RedisConnection;
  let forgetfulServer: RedisServer;
  let forgetful: RedisConnection;
  let isOld: boolean;

  before(async () => {
    server = await startRedis({ appendOnly: true, aclFile: true });
    admin = await connectTo(server);
    forgetfulServer = await startRedis();
    forgetful = await connectTo(forgetfulServer);
    for (const { redis } of [admin, forgetful]) {
      await loadLibrary(redis);
      await publishMedia(redis, { namespace, name: deployment });
    }
    await ensureWorkspaceUser(admin.redis, user);
    tenant = await connectTo(server, { ...user, role: 'sidecar', commandTimeoutMs: STRICT_COMMAND_MS });
    const [major, minor] = (await inspectRedis(admin.redis)).version.split('.').map(Number);
    isOld = major! < 7 || (major === 7 && minor! < 2);
  });
  after(async () => {
    await tenant?.close();
    await forgetful?.close();
    await forgetfulServer?.stop();
    await admin?.close();
    await server?.stop();
  });

  it('of the server is judged by what it says of persistence and memory', async () => {
    expect(await readServerHealth(admin.redis)).to.equal(null);
    await admin.redis.config('SET', 'maxmemory', '10');
    expect(await readServerHealth(admin.redis)).to.match(/memory in use/);
    await admin.redis.config('SET', 'maxmemory', '0');
    expect(await readServerHealth(admin.redis)).to.equal(null);
  });

  it('of a server that forgets is refused unless that is allowed', async () => {
    const { redis } = forgetful;
    expect(await readServerHealth(redis)).to.match(/keeps nothing/);
    expect(await readServerHealth(redis, { allowLoss: true })).to.equal(null);
  });

  it('is refused clearly, as strict, by a server before 7.2', async function () {
    if (!isOld) this.skip();
    const error = await rejection(
      submitRequest(tenant.redis, submissionOf({ namespace, deployment }), strict),
    );
    expect(String(error)).to.include('7.2');
    expect(isRedisAway(error), 'a repeat would help').to.equal(false);
  });

  it('outlives, as strict, a server that is killed right after the answer', async function () {
    if (isOld) this.skip();
    await admin.redis.config('SET', 'appendfsync', 'everysec');
    const submission = submissionOf({ namespace, deployment });
    expect(await submitRequest(tenant.redis, submission, strict)).to.include({ verdict: 'accepted' });
    const job = (await claimRequest(tenant.redis, { namespace, deployment, token: newToken(), pod: 'pod' }))!;
    expect(await finishRequest(tenant.redis, job.claim, success(), strict)).to.equal('done');
    await server.kill();
    await server.restart();
    await admin.untilUp(5000);
    expect(await readRequest(admin.redis, namespace, submission.id)).to.include({ status: 'succeeded' });
  });

  it('is not claimed, as strict, while nothing is written to a disk', async function () {
    if (isOld) this.skip();
    const error = await rejection(
      submitRequest(forgetful.redis, submissionOf({ namespace, deployment }), strict),
    );
    expect(String(error)).to.include('WAITAOF cannot be used');
  });
});
