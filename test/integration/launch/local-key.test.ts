/** The key of what `make run` prints: an APIKey as any other. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { APIKey } from '../../../contract/api-key.ts';
import { hashApiKey } from '../../../contract/identity.ts';
import { configKeys } from '../../../contract/redis-keys.ts';
import { type LocalCluster, startLocalCluster } from '../../../launch/local-api/local-cluster.ts';
import { deriveLocalKey, planLocal } from '../../../launch/local-plan.ts';
import { readManifests } from '../../../launch/manifests.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { connectTo } from '../../support/redis-client.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

const MASTER_KEY = 'k'.repeat(43);
const TOKEN = 'sign-in';

describe('the key that make run makes of each workspace', () => {
  let redis: RedisServer;
  let connection: RedisConnection;
  let cluster: LocalCluster;
  let folder: string;

  const start = async (more: Partial<ReturnType<typeof readManifests>> = {}) => {
    const manifests = { ...readManifests(['examples/local']), ...more };
    const plan = { ...planLocal(manifests.deployments, 8100), apiPort: 0 };
    const options = { manifests, examples: [], plan, masterKey: MASTER_KEY, token: TOKEN, folder };
    cluster = await startLocalCluster({ ...options, redis: connection.redis });
  };
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-objects-'));
    redis = await startRedis();
    connection = await connectTo(redis);
  });
  beforeEach(() => start());
  afterEach(() => cluster.close());
  after(async () => {
    await connection?.close();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const call = async (method: string, namespace: string, name = '', body?: object) => {
    const path = `/apis/berth.dev/v1alpha1/namespaces/${namespace}/apikeys${name && `/${name}`}`;
    const response = await fetch(`http://127.0.0.1:${cluster.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/merge-patch+json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as { items: APIKey[] } };
  };
  const readPublished = async (namespace: string) => {
    const sha256 = hashApiKey(deriveLocalKey(MASTER_KEY, namespace));
    const text = await connection.redis.hget(configKeys(namespace).apiKeys, sha256);
    return text === null ? null : JSON.parse(text);
  };

  for (const namespace of ['default', 'other', 'spent'])
    it(`is shown and published: ${namespace}`, async () => {
      const { body } = await call('GET', namespace);
      const own = body.items.find(
        (each: { metadata: { name: string } }) => each.metadata.name === 'make-run',
      );
      expect(own?.spec.sha256).to.equal(hashApiKey(deriveLocalKey(MASTER_KEY, namespace)));
      expect(own?.status.conditions[0]?.status).to.equal('True');
      expect(await readPublished(namespace)).to.deep.include({ n: 'make-run', rpm: 100_000, off: 0, exp: 0 });
    });

  for (const [done, method, body, off] of [
    ['disabled', 'PATCH', { spec: { disabled: true } }, 1],
    ['revoked', 'DELETE', undefined, undefined],
  ] as const)
    it(`is ${done} as any other, and there again at the next start`, async () => {
      expect((await call(method, 'default', 'make-run', body)).status).to.equal(200);
      expect((await readPublished('default'))?.off).to.equal(off);
      await cluster.close();
      await start();
      expect(await readPublished('default')).to.include({ off: 0 });
    });

  it('is named in an error where the files have another of that name', async () => {
    await cluster.close();
    const own = { namespace: 'default', name: 'make-run', uid: '', generation: 1 };
    const [apiKey] = readManifests(['examples/local']).apiKeys;
    const refusal = await start({ apiKeys: [{ ...apiKey!, metadata: own }] }).catch((error: Error) => error);
    expect(refusal).to.be.an('error').with.property('message').that.includes('APIKey/make-run in default');
  });
});
