import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey, workspaceDataKey } from '../../../contract/identity.ts';
import { configKeys, deliveryKeys } from '../../../contract/redis-keys.ts';
import { openSigningSecret } from '../../../contract/signing-secret.ts';
import { type LocalCluster, startLocalCluster } from '../../../launch/local-api/local-cluster.ts';
import { planLocal } from '../../../launch/local-plan.ts';
import { readManifests } from '../../../launch/manifests.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { loadLibrary } from '../../../redis/library.ts';
import { connectTo, until } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const MASTER_KEY = 'k'.repeat(43);
const TOKEN = 'sign-in';
const NAMESPACE = 'default';
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const OWN = `/apis/berth.dev/v1alpha1/namespaces/${NAMESPACE}`;

interface Reply {
  status: number;
  body: {
    message?: string;
    reason?: string;
    details?: { causes: { field: string }[] };
    metadata: { name: string; uid: string; resourceVersion: string; generation: number };
    spec: Record<string, unknown>;
    status: { sha256?: string; url?: string; conditions: { type: string; status: string; reason: string }[] };
    items: Reply['body'][];
    data: Record<string, string>;
  };
}

describe("the API to make run's objects", () => {
  let redis: RedisServer;
  let connection: RedisConnection;
  let cluster: LocalCluster;
  let folder: string;
  let port: number;
  const manifests = readManifests(['examples/local']);

  async function start(): Promise<void> {
    const plan = { ...planLocal(manifests.deployments, 8100), apiPort: 0 };
    const options = { manifests, examples: [], plan, masterKey: MASTER_KEY, token: TOKEN, folder };
    cluster = await startLocalCluster({ ...options, redis: connection.redis });
    port = cluster.port;
  }
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-objects-'));
    redis = await startRedis();
    connection = await connectTo(redis);
    await loadLibrary(connection.redis);
    await start();
  });
  after(async () => {
    await cluster?.close();
    await connection?.close();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function call(method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Reply['body'] };
  }
  const readKey = async (sha256: string) => connection.redis.hget(configKeys(NAMESPACE).apiKeys, sha256);
  const reasonOf = ({ body }: Reply, type: string) =>
    body.status.conditions.find((condition) => condition.type === type)?.reason;

  it('lists what the files say, with the states that the operator would tell', async () => {
    const { body } = await call('GET', `${OWN}/modeldeployments`);
    expect(body.items.map(({ metadata }) => metadata.name)).to.include('tiny-chat');
    const paused = await call('GET', `${OWN}/modeldeployments/paused-chat`);
    expect(reasonOf(paused, 'Ready')).to.equal('Paused');
    const chat = await call('GET', `${OWN}/modeldeployments/tiny-chat`);
    expect(chat.body.status.url).to.equal('http://127.0.0.1:8101');
    expect(reasonOf(chat, 'Ready')).to.equal('Starting');
    const namespaces = await call('GET', '/api/v1/namespaces');
    expect(namespaces.body.items.map(({ metadata }) => metadata.name)).to.deep.equal([
      'default',
      'other',
      'spent',
    ]);
  });

  it('tells who calls, and lets them do everything', async () => {
    const user = await call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
    expect(user.body.status).to.deep.include({ userInfo: { username: 'make-run', groups: [] } });
    const access = await call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: {} });
    expect(access.body.status).to.deep.equal({ allowed: true });
  });

  for (const authorization of ['', 'Bearer ', 'Bearer other', `Basic ${TOKEN}`])
    it(`refuses the authorization "${authorization}"`, async () => {
      const reply = await call('GET', `${OWN}/apikeys`, undefined, { authorization });
      expect(reply).to.deep.include({ status: 401 });
      expect(reply.body.reason).to.equal('Unauthorized');
    });

  it('publishes a key with its creation, a change with the patch, and nothing after its removal', async () => {
    const sha256 = hashApiKey('sk-berth-mine');
    const made = await call('POST', `${OWN}/apikeys`, {
      metadata: { name: 'mine' },
      spec: { sha256, rpm: 5 },
    });
    expect(made.status).to.equal(201);
    expect(reasonOf(made, 'Ready')).to.equal('Ready');
    expect(JSON.parse((await readKey(sha256))!)).to.deep.include({ n: 'mine', rpm: 5, off: 0 });
    const patched = await call('PATCH', `${OWN}/apikeys/mine`, { spec: { disabled: true } });
    expect(patched.body.metadata.generation).to.equal(2);
    expect(reasonOf(patched, 'Ready')).to.equal('Disabled');
    expect(JSON.parse((await readKey(sha256))!)).to.deep.include({ rpm: 5, off: 1 });
    expect((await call('DELETE', `${OWN}/apikeys/mine`)).status).to.equal(200);
    expect(await readKey(sha256)).to.equal(null);
  });

  it('makes a key where none is given, and takes its Secret away with it', async () => {
    const made = await call('POST', `${OWN}/apikeys`, { metadata: { name: 'made' } });
    const { body } = await call('GET', `${CORE}/secrets/made-api-key`);
    const key = Buffer.from(body.data['api-key']!, 'base64').toString();
    expect(made.body.status.sha256).to.equal(hashApiKey(key));
    expect(await readKey(hashApiKey(key))).to.be.a('string');
    await call('DELETE', `${OWN}/apikeys/made`);
    expect((await call('GET', `${CORE}/secrets/made-api-key`)).status).to.equal(404);
  });

  it('keeps what was written over a restart, and what the files say', async () => {
    const sha256 = hashApiKey('sk-berth-kept');
    await call('POST', `${OWN}/apikeys`, { metadata: { name: 'kept' }, spec: { sha256 } });
    await cluster.close();
    await start();
    expect((await call('GET', `${OWN}/apikeys/kept`)).status).to.equal(200);
    expect(await readKey(sha256)).to.be.a('string');
    expect((await call('GET', `${OWN}/modeldeployments`)).body.items).to.not.be.empty;
    expect(readFileSync(join(folder, 'objects.json'), 'utf8')).to.not.include('tiny-chat');
  });

  it('signs with another secret as soon as the Secret is written, and with a new one when it is deleted', async () => {
    const data = { secret: Buffer.from('whsec_rolled').toString('base64') };
    const readSecret = async () =>
      openSigningSecret(
        (await connection.redis.hget(configKeys(NAMESPACE).workspace, 'signingSecret'))!,
        NAMESPACE,
        workspaceDataKey(MASTER_KEY, NAMESPACE),
      );
    await call('PATCH', `${CORE}/secrets/berth-signing-secret`, { data });
    expect(await readSecret()).to.equal('whsec_rolled');
    await call('DELETE', `${CORE}/secrets/berth-signing-secret`);
    expect(await readSecret())
      .to.match(/^whsec_/)
      .and.not.equal('whsec_rolled');
  });

  it('tells whether events go to an endpoint: not where its URL leads inside', async () => {
    const create = (name: string, url: string) =>
      call('POST', `${OWN}/webhookendpoints`, { metadata: { name }, spec: { url } });
    await create('here', 'http://127.0.0.1:4000/hook');
    await create('inside', 'https://10.0.0.1/hook');
    const untilTold = (name: string, reason: string) =>
      until(
        async () => reasonOf(await call('GET', `${OWN}/webhookendpoints/${name}`), 'Active') === reason,
        name,
      );
    await untilTold('here', 'Active');
    await untilTold('inside', 'NotAccepted');
    const { endpoints } = configKeys(NAMESPACE);
    await until(async () => (await connection.redis.hkeys(endpoints)).join() === 'here', 'published');
  });

  it('enables an endpoint again for another value of the annotation', async () => {
    const key = deliveryKeys(NAMESPACE).endpoint('here');
    await connection.redis.hset(key, { failures: 20, disabled_at: Date.now() });
    const disabled = await call('GET', `${OWN}/webhookendpoints/here`);
    expect(reasonOf(disabled, 'Active')).to.equal('AutoDisabled');
    await call('PATCH', `${OWN}/webhookendpoints/here`, {
      metadata: { annotations: { 'berth.dev/re-enable': 'now' } },
    });
    expect(await connection.redis.hget(key, 'failures')).to.equal(null);
  });

  it('tries a bucket once its keys are there', async () => {
    const spec = { bucket: 'results', endpoint: 'http://127.0.0.1:9', secret: 'their-keys' };
    await call('POST', `${OWN}/storagecredentials`, { metadata: { name: 'theirs' }, spec });
    const untilTold = (text: string) =>
      until(
        async () =>
          JSON.stringify((await call('GET', `${OWN}/storagecredentials/theirs`)).body).includes(text),
        text,
      );
    await untilTold('is missing');
    const stringData = { accessKeyId: 'id', secretAccessKey: 'secret' };
    await call('POST', `${CORE}/secrets`, { metadata: { name: 'their-keys' }, stringData });
    await untilTold('bucket results');
    const published = await connection.redis.hget(configKeys(NAMESPACE).credentials, 'name:theirs');
    expect(published).to.be.a('string');
  });

  const key = (spec: object, name = 'refused') => ({ metadata: { name }, spec });
  const REFUSALS: [
    what: string,
    method: string,
    path: string,
    body: unknown,
    status: number,
    words: RegExp,
  ][] = [
    ['a field out of range', 'POST', `${OWN}/apikeys`, key({ rpm: 0 }), 422, /spec\.rpm: must be a whole/],
    ['a name in capitals', 'POST', `${OWN}/apikeys`, key({}, 'Mine'), 422, /metadata\.name/],
    ['no name', 'POST', `${OWN}/apikeys`, { spec: {} }, 422, /metadata\.name/],
    ['a second Workspace', 'POST', `${OWN}/workspaces`, { metadata: { name: 'two' } }, 422, /one Workspace/],
    ['a name that is taken', 'POST', `${OWN}/apikeys`, key({}, 'kept'), 409, /already exists/],
    ['an object that is not there', 'PATCH', `${OWN}/apikeys/none`, {}, 404, /"none" not found/],
    [
      'another namespace than the path',
      'POST',
      `${OWN}/apikeys`,
      { metadata: { namespace: 'other' } },
      400,
      /namespace/,
    ],
    ['another kind than the path', 'POST', `${OWN}/apikeys`, { kind: 'Workspace' }, 400, /APIKey/],
    ['no JSON', 'POST', `${OWN}/apikeys`, 'rpm: 5', 400, /JSON/],
    ['a deployment', 'DELETE', `${OWN}/modeldeployments/tiny-chat`, undefined, 405, /files/],
    ['an unknown resource', 'GET', `${OWN}/pods`, undefined, 404, /could not find/],
    [
      'a namespace that is not there',
      'POST',
      `${OWN.replace(NAMESPACE, 'none')}/apikeys`,
      key({}),
      404,
      /namespaces "none"/,
    ],
    ['an old version', 'PUT', `${OWN}/apikeys/kept`, { metadata: { resourceVersion: '1' } }, 409, /modified/],
  ];
  for (const [what, method, path, body, status, words] of REFUSALS)
    it(`refuses ${what} as the API server does: ${status}`, async () => {
      const reply = await call(method, path, body);
      expect(reply.body).to.deep.include({ kind: 'Status', status: 'Failure', code: status });
      expect(reply.body.message).to.match(words);
      expect(reply.status).to.equal(status);
    });
});
