/** A customer's bucket for the gateway of the images' fixture, published as the operator does it. */
import { join } from 'node:path';
import { workspaceDataKey } from '../../../api/identity.ts';
import { configKeys, type PublishedCredential } from '../../../api/redis-keys.ts';
import { type StorageKeys, sealStorageKeys } from '../../../api/storage-keys.ts';
import { publishCredentials } from '../../../redis/publication/publication.ts';
import {
  type ImagesFixture,
  listFiles,
  MASTER_KEY,
  startImagesFixture,
} from '../../integration/gateway/images-fixture.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';

export const CUSTOMER = { id: 7, name: 'theirs', bucket: 'customer', prefix: 'berth/' };
/** The same bucket, with keys that may do nothing there. */
export const DENIED = { ...CUSTOMER, id: 8, name: 'denied' };

export interface BucketFixture extends ImagesFixture {
  s3: S3Server;
  /** Objects of the bucket. */
  listCustomer(): string[];
}

export async function startBucketFixture(): Promise<BucketFixture> {
  const s3 = await startS3();
  s3.createBucket(CUSTOMER.bucket);
  const fixture = await startImagesFixture();
  const namespace = 'team';
  const describe = (customer: typeof CUSTOMER, keys: StorageKeys): PublishedCredential => {
    const place = { redisKey: configKeys(namespace).credentials, credentialId: customer.id };
    return {
      v: 1,
      ...customer,
      endpoint: s3.endpoint,
      region: s3.region,
      pathStyle: true,
      sealed: sealStorageKeys(keys, place, workspaceDataKey(MASTER_KEY, namespace)),
      verified: true,
    };
  };
  const credentials = [describe(CUSTOMER, s3), describe(DENIED, s3.createUser())];
  await publishCredentials(fixture.connection.redis, namespace, credentials);
  return {
    ...fixture,
    s3,
    listCustomer: () => listFiles(join(s3.folder, CUSTOMER.bucket)),
    stop: async () => {
      await fixture.stop();
      await s3.stop();
    },
  };
}
