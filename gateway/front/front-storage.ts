/** Storage with keys: the managed bucket, or the folder of `make run`, and customers' buckets. */
import {
  deriveSecret,
  linkSecret,
  peerToken,
  promptKey,
  storageToken,
  workspaceDataKey,
  workspacePrefix,
} from '../../api/identity.ts';
import { EnvironmentError } from '../../kit/environment.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readCredential } from '../../redis/publication/published.ts';
import type { EgressSettings } from '../egress/agent.ts';
import type {
  BucketEnvironment,
  FrontStorageEnvironment,
  ServerStorageEnvironment,
} from '../environment/storage-environment.ts';
import type { StorageServices } from '../jobs/services.ts';
import { Downloader } from '../storage/download.ts';
import { FolderServer } from '../storage/folder-server.ts';
import { FolderStore } from '../storage/folder-store.ts';
import { ObjectFolder } from '../storage/object-folder.ts';
import { isBucketKey } from '../storage/object-keys.ts';
import { S3Store } from '../storage/s3-store.ts';
import { Spool } from '../storage/spool.ts';
import { StoreUrlSigner } from '../storage/store-url-signer.ts';
import { type OpenStore, Stores } from '../storage/stores.ts';
import { Uploader } from '../storage/uploads.ts';

export interface ServerStorage {
  services: StorageServices;
  stores: Stores;
  close(): Promise<void>;
}

export interface ServerStorageOptions {
  environment: ServerStorageEnvironment;
  redis: RedisClient;
  egress: EgressSettings;
  managed?: OpenStore | null;
}

/** Throws EnvironmentError if the managed bucket can never work. */
export async function openServerStorage({
  environment,
  redis,
  egress,
  managed = environment.bucket && openBucket(environment.bucket),
}: ServerStorageOptions): Promise<ServerStorage> {
  const { masterKey } = environment;
  const spool = await Spool.open(environment.spool);
  const uploader = new Uploader({ egress });
  const downloader = new Downloader({ egress });
  const stores = new Stores({
    managed,
    readCredential: (namespace, name) => readCredential(redis, namespace, { name }),
    dataKey: (namespace) => workspaceDataKey(masterKey, namespace),
    egress,
  });
  return {
    stores,
    services: {
      urlSigner: new StoreUrlSigner(stores, ({ namespace, name }) =>
        linkSecret(peerToken(masterKey, namespace, name)),
      ),
      spool,
      uploader,
      downloader,
      requestPrefix: (namespace) => workspacePrefix(masterKey, namespace),
      promptKey: (namespace) => promptKey(storageToken(masterKey, namespace)),
    },
    close: async () => {
      uploader.close();
      downloader.close();
      stores.close();
      await spool.close();
    },
  };
}

export interface FrontStorageOptions {
  environment: FrontStorageEnvironment;
  redis: RedisClient;
  egress: EgressSettings;
  host: string;
}

export async function openFrontStorage({ host, ...options }: FrontStorageOptions): Promise<ServerStorage> {
  const { folder, masterKey } = options.environment;
  if (!folder) return openServerStorage(options);
  const objects = new ObjectFolder(folder.path);
  await objects.tidy();
  const secret = deriveSecret(masterKey, 'folder-links');
  const server = await FolderServer.start({
    objects,
    bucket: FOLDER_BUCKET,
    secret,
    host,
    port: folder.port,
  });
  const origin = `http://${host}:${server.port}`;
  const store = new FolderStore({ objects, bucket: FOLDER_BUCKET, origin, secret });
  const storage = await openServerStorage({ ...options, managed: { store, prefix: '' } });
  return {
    ...storage,
    close: async () => {
      await storage.close();
      await server.close();
    },
  };
}

/** Name of the folder in links and records. */
const FOLDER_BUCKET = 'berth';

function openBucket({ prefix, accessKeyId, secretAccessKey, ...bucket }: BucketEnvironment): OpenStore {
  const keys = { accessKeyId, secretAccessKey };
  try {
    if (!isBucketKey(`${prefix}results`)) throw new Error('cannot have this prefix');
    return { store: new S3Store({ ...bucket, keys, provider: null, egress: null }), prefix };
  } catch (error) {
    throw new EnvironmentError(`the managed bucket ${bucket.bucket} ${(error as Error).message}`);
  }
}
