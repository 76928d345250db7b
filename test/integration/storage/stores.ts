/** Both kinds of store, S3 of several servers, each on the real thing, under one name for the same tests. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderServer } from '../../../gateway/storage/folder-server.ts';
import { FolderStore } from '../../../gateway/storage/folder-store.ts';
import { ObjectFolder } from '../../../gateway/storage/object-folder.ts';
import type { ObjectStore } from '../../../gateway/storage/object-store.ts';
import { S3Store, type S3StoreOptions } from '../../../gateway/storage/s3-store.ts';
import { type AnyS3Server, S3_SERVERS } from '../../support/s3-servers.ts';

export interface StartedStore {
  store: ObjectStore;
  /** Keys of all objects. */
  listObjects(): Promise<string[]>;
  stop(): Promise<void>;
}

export const BUCKET = 'results';

export const s3Options = (
  server: Pick<AnyS3Server, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>,
): S3StoreOptions => ({
  endpoint: server.endpoint,
  publicEndpoint: null,
  region: server.region,
  bucket: BUCKET,
  prefix: '',
  pathStyle: true,
  accessKeyId: server.accessKeyId,
  secretAccessKey: server.secretAccessKey,
  provider: null,
  egress: null,
});

async function startS3Store(start: () => Promise<AnyS3Server>): Promise<StartedStore> {
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

async function startFolderStore(): Promise<StartedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-folder-'));
  const objects = new ObjectFolder(folder);
  const secret = randomBytes(32);
  const server = await FolderServer.start({ objects, bucket: BUCKET, secret, host: '127.0.0.1', port: 0 });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    store: new FolderStore({ objects, bucket: BUCKET, origin, secret }),
    listObjects: async () => listFiles(folder),
    stop: async () => {
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export const STORES: Record<string, () => Promise<StartedStore>> = {
  ...Object.fromEntries(
    Object.entries(S3_SERVERS).map(([name, start]) => [`a bucket of ${name}`, () => startS3Store(start)]),
  ),
  'a folder': startFolderStore,
};

/** Without the folder's notes of what each object is. */
const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.startsWith('types/') && statSync(join(folder, path)).isFile(),
  );
