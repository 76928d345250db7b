import { expect } from 'chai';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { storageToken } from '../../../api/identity.ts';
import { inputKey } from '../../../gateway/storage/object-keys.ts';
import { RemoteUrlSigner } from '../../../gateway/storage/remote-url-signer.ts';
import { storeFiles } from '../../../gateway/storage/uploads.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import { pollUntil } from '../../support/poll.ts';

import { newRequestId } from '../../support/request-fixture.ts';
import { holdText, MANAGED, MASTER_KEY, type StorageHarness, startStorage } from './storage-harness.ts';

describe('a front as a process', () => {
  let harness: StorageHarness;
  let front: FrontProcess;
  before(async function () {
    this.timeout(600_000);
    harness = await startStorage();
    await harness.publish('team');
    const { endpoint, accessKeyId, secretAccessKey } = harness.s3;
    front = await startFrontProcess({
      redisURL: harness.redis.url,
      replicaPort: 1_024,
      secrets: { masterKey: MASTER_KEY, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey },
      env: { [GATEWAY_ENV.s3Bucket]: MANAGED, [GATEWAY_ENV.s3Endpoint]: endpoint },
    });
  });
  after(async () => {
    await front?.stop();
    await harness?.stop();
  });

  it('has files stored that it signs for, and removes them when their time comes', async () => {
    const urlSigner = new RemoteUrlSigner({
      url: front.internalOrigin,
      namespace: 'team',
      token: storageToken(MASTER_KEY, 'team'),
    });
    const { uploader } = harness.storage.services;
    const key = inputKey('team', newRequestId(), 'a.txt');
    const file = await holdText(harness, 'hello');
    const { objects } = await storeFiles(
      { urlSigner, uploader, redis: harness.connection.redis },
      {
        namespace: 'team',
        credential: null,
        files: [{ file, key, contentType: 'text/plain' }],
        removeInMs: 1_000,
        deadlineMs: 10_000,
      },
    );
    const links = { namespace: 'team', credential: null, objects, expiresInSeconds: 60 };
    const [link] = await urlSigner.signGets(links);
    expect(await (await fetch(link!)).text()).to.equal('hello');
    await pollUntil(async () => (await fetch(link!)).status === 404, 'the removal');
    expect(harness.list(MANAGED)).to.deep.equal([]);
  });
});
