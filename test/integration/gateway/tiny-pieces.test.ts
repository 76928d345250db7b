import { expect } from 'chai';
import { GATEWAY_ENV, GATEWAY_NODE_FLAGS } from '../../../api/gateway-environment.ts';
import { hashApiKey, workspaceDataKey } from '../../../api/identity.ts';
import { configKeys } from '../../../api/redis-keys.ts';
import { sealSigningSecret } from '../../../api/signing-secret.ts';
import {
  publishApiKeys,
  publishDeployment,
  publishHost,
  publishReplicas,
} from '../../../redis/publication/publication.ts';
import { cancelRequest, submitRequest } from '../../../redis/requests/request-calls.ts';
import { readChartLimits } from '../../support/chart-limits.ts';
import { streamChat } from '../../support/chat.ts';
import { type ChildProgram, findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, MASTER_KEY, startFrontProcess } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { watchAttack } from '../../support/process-load.ts';
import { newToken, publishMedia, submissionOf } from '../../support/request-fixture.ts';
import { TestStack } from '../../support/test-stack.ts';
import { startTinyClient, startTinyServer } from '../../support/tiny-pieces.ts';

const MIB = 1024 * 1024;
const HOSTILE_ADDRESS = '127.0.0.31';
const SIDECAR_ADDRESS = '127.0.0.32';
const HOSTS = {
  hostile: 'hostile--team.models.example.com',
  cold: 'cold--team.models.example.com',
  other: 'other--good.models.example.com',
  picture: 'picture--team.models.example.com',
};
const SIDECAR_MIB = 1024;
const SIDECAR_OPTIONS = [...GATEWAY_NODE_FLAGS, '--max-old-space-size=768'].join(' ');

/** As the chart starts it. */
describe('bodies in pieces of one byte', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let front: FrontProcess;
  let replicaPort: number;
  const attackers: ChildProgram[] = [];

  before(async () => {
    stack = await TestStack.start();
    const { redis } = stack;
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    await publishApiKeys(redis, 'team', new Map([[hashApiKey(API_KEY), key]]));
    const models = {
      hostile: describeModel({}, { name: 'hostile' }),
      cold: describeModel({ scaling: { min: 0, max: 1, coldStart: { mode: 'Hold' } } }, { name: 'cold' }),
      picture: describeModel({ kind: 'Image', replicas: 0 }, { name: 'picture' }),
      other: describeModel({}, { namespace: 'good', name: 'other' }),
    };
    for (const [name, model] of Object.entries(models)) {
      const { namespace } = model;
      await publishDeployment(redis, model);
      await publishHost(redis, HOSTS[name as keyof typeof HOSTS], { namespace, name });
    }
    await publishReplicas(redis, 'team', 'hostile', [HOSTILE_ADDRESS]);
    replicaPort = await findFreePort([HOSTILE_ADDRESS]);
  });
  after(() => stack?.stop());
  beforeEach(async () => {
    front = await startFrontProcess({
      redisURL: stack.server.url,
      replicaPort,
      env: {
        NODE_OPTIONS: readChartLimits('front').nodeOptions,
        [GATEWAY_ENV.egressAllow]: '127.0.0.0/8',
        [GATEWAY_ENV.egressPlainHTTP]: 'true',
      },
    });
    await pollUntil(async () => (await front.admin('/readyz')).ok, 'the front to be ready');
  });
  afterEach(async () => {
    await Promise.all(attackers.splice(0).map((attacker) => attacker.stop('SIGKILL')));
    await front?.stop('SIGKILL');
  });

  const start = (attacker: ChildProgram) => {
    attackers.push(attacker);
    return attacker;
  };
  const askOther = async () => {
    const answer = await fetchByHost(`${front.origin}/v1/models`, HOSTS.other);
    expect(answer.status).to.be.oneOf([401, 503]);
    await answer.arrayBuffer();
    const health = await front.admin('/healthz');
    expect(health.status).to.equal(200);
  };
  const headOf = (method: string, path: string, host: string, key = API_KEY) =>
    [
      `${method} ${path} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      ...(method === 'POST' ? ['content-type: application/json', 'transfer-encoding: chunked'] : []),
      '\r\n',
    ].join('\r\n');
  const toFront = () => ({ host: '127.0.0.1', port: Number(new URL(front.origin).port) });

  it('neither fill nor stop a front as answers to webhooks', async () => {
    const receiver = start(
      startTinyServer({ host: '127.0.0.1', port: 0, status: '200 OK', first: '', bytes: MIB }),
    );
    const [, port] = await receiver.waitFor(/port (\d+)/);
    await publishMedia(stack.redis, { namespace: 'team', name: 'film' });
    await stack.redis.hset(configKeys('team').workspace, {
      signingSecret: sealSigningSecret('whsec_test', 'team', workspaceDataKey(MASTER_KEY, 'team')),
    });
    const end = await watchAttack(front.program, askOther);
    for (let index = 0; index < 100; index++) {
      const webhookUrl = `http://127.0.0.1:${port}/${index}`;
      const submission = submissionOf({ namespace: 'team', deployment: 'film', webhookUrl });
      await submitRequest(stack.redis, submission);
      await cancelRequest(stack.redis, { namespace: 'team', id: submission.id, token: newToken() });
    }
    await pollUntil(() => receiver.output.split('answered').length > 100, 'all deliveries', 60_000);
    await pollUntil(
      async () => /webhook_attempts_total{[^}]*} (\d{3,})/.test(await front.metrics()),
      'all to be delivered',
      60_000,
    );
    await end();
  });

  it('neither fill nor stop a front as one JSON body', async () => {
    const end = await watchAttack(front.program, askOther);
    const head = headOf('POST', '/v1/images/generations?async=true', HOSTS.picture);
    const order = { ...toFront(), connections: 1, head, bytes: 2 * MIB, everyMs: 0, reads: true };
    const client = start(startTinyClient({ ...order, first: '{"note":"', last: '"}' }));
    await client.waitFor(/HTTP\/1.1 400/);
    await end();
  });

  it('neither fill nor stop a front without a key', async () => {
    const end = await watchAttack(front.program, askOther);
    const head = headOf('POST', '/v1/images/generations?async=true', HOSTS.picture, 'sk-wrong');
    const order = { ...toFront(), connections: 150, head, bytes: 30_000, everyMs: 20, reads: true };
    const client = start(startTinyClient({ ...order, first: '', last: '' }));
    await client.waitFor(/sent/);
    await end();
  });

  it('neither fill nor stop a front that holds requests with them', async () => {
    const end = await watchAttack(front.program, askOther);
    const head = headOf('POST', '/v1/chat/completions', HOSTS.cold);
    const order = { ...toFront(), connections: 60, head, bytes: 60_000, everyMs: 20, reads: true };
    start(startTinyClient({ ...order, first: '', last: '' }));
    await pollUntil(
      async () => /requests_held(?:{[^}]*})? 60\n/.test(await front.metrics()),
      '60 held requests',
      30_000,
    );
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await end();
  });

  it('neither fill nor stop a front as answers of a replica to clients that do not read', async () => {
    const replica = start(
      startTinyServer({
        host: HOSTILE_ADDRESS,
        port: replicaPort,
        status: '200 OK',
        first: '',
        bytes: 8_000,
      }),
    );
    await replica.waitFor(/port/);
    const end = await watchAttack(front.program, askOther);
    const head = headOf('GET', '/v1/models', HOSTS.hostile);
    const order = { ...toFront(), connections: 150, head, bytes: 0, everyMs: 20, reads: false };
    start(startTinyClient({ ...order, first: '', last: '' }));
    await pollUntil(() => replica.output.split('answered').length > 150, 'all answers', 90_000);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await end();
  });

  describe('at a sidecar', () => {
    let engine: Engine;
    let sidecar: ModelReplica;

    before(async () => {
      engine = await startEngine();
    });
    after(() => engine?.stop('SIGKILL'));
    beforeEach(async () => {
      sidecar = await startReplica({
        redisURL: stack.server.url,
        engineURL: engine.url,
        config: describeModel(),
        address: SIDECAR_ADDRESS,
        port: await findFreePort([SIDECAR_ADDRESS]),
        env: {
          NODE_OPTIONS: SIDECAR_OPTIONS,
          [GATEWAY_ENV.egressAllow]: '127.0.0.0/8',
          [GATEWAY_ENV.egressPlainHTTP]: 'true',
        },
      });
      await pollUntil(async () => (await sidecar.admin('/readyz')).ok, 'the sidecar to be ready');
      await engine.control({ ttftMs: 20, itlMs: 40, tokens: 100 });
    });
    afterEach(() => sidecar?.stop('SIGKILL'));
    const askSidecar = async () => {
      expect((await sidecar.admin('/healthz')).status).to.equal(200);
    };

    it('do not end the stream of another as videos of a chat', async () => {
      const media = start(
        startTinyServer({
          host: '127.0.0.1',
          port: 0,
          status: '200 OK',
          first: '\0\0\0\x20ftypisom',
          bytes: MIB,
        }),
      );
      const [, port] = await media.waitFor(/port (\d+)/);
      const end = await watchAttack(sidecar.program, askSidecar);
      const stream = await streamChat(sidecar.url);
      const video_url = { url: `http://127.0.0.1:${port}/film.mp4` };
      const content = Array.from({ length: 2 }, () => ({ type: 'video_url', video_url }));
      const chat = await streamChat(sidecar.url, { body: { messages: [{ role: 'user', content }] } });
      expect(await stream.ended).to.include({ isWhole: true });
      await chat.ended;
      await end({ maxGrowthMiB: SIDECAR_MIB });
    });

    it('do not end the stream of another as one JSON body', async () => {
      const end = await watchAttack(sidecar.program, askSidecar);
      const stream = await streamChat(sidecar.url);
      const head = headOf('POST', '/v1/chat/completions', 'chat');
      const place = { host: SIDECAR_ADDRESS, port: Number(new URL(sidecar.origin).port) };
      const order = { ...place, connections: 1, head, bytes: 2 * MIB, everyMs: 0, reads: true };
      const client = start(startTinyClient({ ...order, first: '{"note":"', last: '"}' }));
      await client.waitFor(/HTTP\/1.1 400/);
      expect(await stream.ended).to.include({ isWhole: true });
      await end();
    });
  });
});
