/** A bucket of a real S3 server as a store. */
import { S3Store, type S3StoreOptions } from '../../../gateway/storage/s3-store.ts';
import type { StartedStore } from '../../integration/storage/store-behavior.ts';
import type { AnyS3Server } from '../../support/s3-servers.ts';

export const BUCKET = 'results';

export const s3Options = (
  server: Pick<AnyS3Server, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>,
): S3StoreOptions => ({
  endpoint: server.endpoint,
  publicEndpoint: null,
  region: server.region,
  bucket: BUCKET,
  pathStyle: true,
  keys: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
  provider: null,
  egress: null,
});

export async function startS3Store(start: () => Promise<AnyS3Server>): Promise<StartedStore> {
  const server = await start();
  await server.createBucket(BUCKET);
  const store = new S3Store(s3Options(server));
  return {
    store,
    listObjects: () => server.listKeys(BUCKET),
    stop: async () => {
      store.close();
      await server.stop();
    },
  };
}
