/** A front with buckets, its own and customers'. */
import { join } from 'node:path';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { workspaceDataKey } from '../../../api/identity.ts';
import { configKeys } from '../../../api/redis-keys.ts';
import { sealStorageKeys } from '../../../api/storage-keys.ts';
import { publishCredentials } from '../../../redis/publication/publication.ts';
import { BUCKET, type FrontWorkspace, startFrontWorkspace } from '../../integration/media/front-workspace.ts';
import { MASTER_KEY } from '../../support/front-process.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';

/** Loopback stands for the public internet, where customers' buckets are. */
export const EGRESS = { [GATEWAY_ENV.egressAllow]: '127.0.0.0/8', [GATEWAY_ENV.egressPlainHTTP]: 'true' };

export interface BucketWorkspace extends FrontWorkspace {
  s3: S3Server;
}

export interface CustomerBucket {
  id: number;
  /** Name of the StorageCredential. */
  name: string;
  bucket: string;
  prefix: string;
}

export async function startBucketWorkspace(): Promise<BucketWorkspace> {
  const s3 = await startS3();
  s3.createBucket(BUCKET);
  const { accessKeyId, secretAccessKey } = s3;
  const space = await startFrontWorkspace(EGRESS, async () => ({
    origin: s3.endpoint,
    folder: join(s3.folder, BUCKET),
    front: {
      secrets: { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey },
      env: { [GATEWAY_ENV.s3Bucket]: BUCKET, [GATEWAY_ENV.s3Endpoint]: s3.endpoint },
    },
    stop: () => s3.stop(),
  }));
  return { ...space, s3 };
}

/** Publishes a StorageCredential of the workspace `team`, as the operator does it. */
export async function publishCustomer(
  { connection, s3 }: BucketWorkspace,
  customer: CustomerBucket,
): Promise<void> {
  const place = { redisKey: configKeys('team').credentials, credentialId: customer.id };
  const { endpoint, region, accessKeyId, secretAccessKey } = s3;
  const keys = { accessKeyId, secretAccessKey };
  const sealed = sealStorageKeys(keys, place, workspaceDataKey(MASTER_KEY, 'team'));
  await publishCredentials(connection.redis, 'team', [
    { v: 1, ...customer, endpoint, region, pathStyle: true, sealed, verified: true },
  ]);
}
