import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../contract/gateway-environment.ts';
import { hashApiKey } from '../../../contract/identity.ts';
import { FRONT_SECRET_FILES } from '../../../contract/names.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { publishApiKeys, publishDeployment } from '../../../redis/publication.ts';
import { callChat, readError, streamChat } from '../../support/chat.ts';
import { type ChildProgram, findFreePort, startProgram } from '../../support/child-program.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  startEngine,
  waitForAnswer,
} from '../../support/model-replica.ts';
import { connectTo, until } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

describe('the gateway of `make run`', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let engine: Engine;
  let program: ChildProgram;
  let folder: string;
  let urls: Record<'chat' | 'other' | 'idle' | 'front', string>;
  const configs = [
    describeModel(),
    describeModel({}, { namespace: 'other' }),
    describeModel({ paused: true }, { name: 'idle' }),
  ];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-local-'));
    server = await startRedis();
    connection = await connectTo(server);
    await loadLibrary(connection.redis);
    for (const config of configs) await publishDeployment(connection.redis, config);
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    await publishApiKeys(connection.redis, 'team', new Map([[hashApiKey(API_KEY), key]]));
    engine = await startEngine();
    const ports: number[] = [];
    for (let index = 0; index < 6; index++) ports.push(await findFreePort());
    const engineURLs = [engine.url, engine.url, null];
    const file = join(folder, 'gateway.json');
    const deployments = configs.map(({ namespace, name }, index) => ({
      namespace,
      name,
      port: ports[index],
      engineURL: engineURLs[index],
      healthPath: '/health',
    }));
    writeFileSync(file, JSON.stringify({ frontPort: ports[3], deployments }));
    writeFileSync(join(folder, FRONT_SECRET_FILES.masterKey), 'test-master-key');
    const [chat, other, idle, front] = ports.map((port) => `http://127.0.0.1:${port}/v1`);
    urls = { chat: chat!, other: other!, idle: idle!, front: front! };
    program = startProgram('gateway/main.ts', {
      [GATEWAY_ENV.role]: 'local',
      [GATEWAY_ENV.redisURL]: server.url,
      [GATEWAY_ENV.localFile]: file,
      [GATEWAY_ENV.secretPath]: folder,
      [GATEWAY_ENV.spoolPath]: join(folder, 'spool'),
      [GATEWAY_ENV.adminPort]: String(ports[4]),
      [GATEWAY_ENV.metricsPort]: String(ports[5]),
    });
    await waitForAnswer(program, () => fetch(`http://127.0.0.1:${ports[4]}/readyz`));
  });
  after(async () => {
    await Promise.all([program?.stop('SIGKILL'), engine?.stop('SIGKILL')]);
    await connection?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('serves each deployment on its own port, to keys of its own workspace', async () => {
    expect((await callChat(urls.chat)).status).to.equal(200);
    expect((await readError(await callChat(urls.other))).status).to.equal(401);
  });

  it('answers for a deployment without an engine as the front does', async () => {
    const answer = await readError(await callChat(urls.idle));
    expect(answer).to.include({ status: 503, code: 'no_pod_available', retryAfter: '30' });
    expect(answer.message).to.match(/paused/);
  });

  it('answers 404 at an address that is no deployment’s', async () => {
    expect(await readError(await callChat(urls.front))).to.include({ status: 404, code: 'not_found' });
  });

  it('follows what is published while it runs', async () => {
    await publishDeployment(connection.redis, { ...configs[0]!, paused: true });
    await until(async () => (await callChat(urls.chat)).status === 503, 'the pause');
    await publishDeployment(connection.redis, configs[0]!);
    await until(async () => (await callChat(urls.chat)).status === 200, 'the end of the pause');
  });

  it('stops soon on SIGTERM, even within an answer that takes long', async () => {
    await engine.control({ ttftMs: 10, itlMs: 100, tokens: 1_000 });
    const stream = await streamChat(urls.chat);
    await until(() => stream.frames() > 0, 'a frame');
    const begun = performance.now();
    await program.stop();
    expect(program.ended).to.equal(0);
    expect(performance.now() - begun).to.be.lessThan(30_000);
    await stream.ended;
  });
});
