import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { workspaceDataKey } from '../../../api/identity.ts';
import type { Condition } from '../../../api/kubernetes-types.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { createInternalServer } from '../../../gateway/storage/service/service.ts';
import { StoreUrlSigner } from '../../../gateway/storage/store-url-signer.ts';
import { Stores } from '../../../gateway/storage/stores.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import { readCredential, readCredentials } from '../../../redis/publication/published.ts';
import { makeSettings } from '../../integration/operator/operator-settings.ts';
import { findFreePort } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { useHarness } from './operator-harness.ts';

const { StorageCredential } = BERTH_RESOURCES;

describe('storage credentials, a real front and a real store', () => {
  const harness = useHarness();
  let s3: S3Server;
  let stores: Stores;
  let front: Server;
  let namespace: string;

  before(async () => {
    s3 = await startS3();
    s3.createBucket('results');
    const { redis } = harness.redis;
    stores = new Stores({
      managed: null,
      readCredential: (workspace, name) => readCredential(redis, workspace, { name }),
      dataKey: (workspace) => workspaceDataKey('master', workspace),
      egress: { allow: ['127.0.0.0/8'], deny: [], plainHTTP: true },
      answerTimeoutMs: 2_000,
    });
    front = createInternalServer({
      masterKey: 'master',
      urlSigner: new StoreUrlSigner(stores),
      stores,
      readCredential: (workspace, id) => readCredential(redis, workspace, { id }),
      egress: new EgressAgent({ allow: [], deny: [], plainHTTP: false }),
      log: createLog('silent'),
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
  });
  after(async () => {
    front.close();
    stores.close();
    await s3.stop();
  });
  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
    harness.startOperator({
      settings: makeSettings({
        storageURL: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
        egress: { allow: ['127.0.0.0/8'], deny: [], plainHTTP: true },
      }),
    });
  });

  const makeKeys = (name: string, keys: { accessKeyId: string; secretAccessKey: string }) =>
    harness.cluster.client.create(RESOURCES.Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      stringData: { ...keys },
    });
  const create = (name: string, spec: object) =>
    harness.cluster.create(
      StorageCredential,
      { namespace, name },
      { endpoint: s3.endpoint, bucket: 'results', secret: 'good', ...spec },
    );
  const verdictOf = async (name: string) => {
    const live = await harness.cluster.find(StorageCredential, namespace, name);
    const { conditions = [] } = (live?.status ?? {}) as { conditions?: Condition[] };
    return conditions.find(({ type }) => type === 'Verified');
  };

  it('distinguish a working bucket from broken ones, with a message', async () => {
    const { accessKeyId, secretAccessKey } = s3;
    await makeKeys('good', { accessKeyId, secretAccessKey });
    await makeKeys('bad', { accessKeyId, secretAccessKey: 'wrong' });
    await create('works', { prefix: 'berth/' });
    await create('no-bucket', { bucket: 'nowhere' });
    await create('wrong-keys', { secret: 'bad' });
    await create('no-store', { endpoint: `http://127.0.0.1:${await findFreePort()}` });
    await create('inside', { endpoint: 'http://10.1.2.3' });
    const expected: [string, string, RegExp][] = [
      ['works', 'Verified', /bucket results/],
      ['no-bucket', 'Bucket', /bucket nowhere does not exist/],
      ['wrong-keys', 'Credentials', /bucket results rejects these keys/],
      ['no-store', 'Unreachable', /cannot be reached/],
      ['inside', 'Address', /address that is not allowed/],
    ];
    for (const [name, reason, words] of expected) {
      await pollUntil(async () => (await verdictOf(name))?.reason === reason, `${name}: ${reason}`);
      expect((await verdictOf(name))?.message).to.match(words);
    }
    const verified = async () =>
      (await readCredentials(harness.redis.redis, namespace))
        .filter((credential) => credential.verified)
        .map(({ name }) => name);
    await pollUntil(async () => (await verified()).join() === 'works');
  });
});
