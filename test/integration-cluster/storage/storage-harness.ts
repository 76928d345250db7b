/** All that storage needs, for real: Redis, an S3 server that checks signatures, a front's stores and its internal service. */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storageToken, workspaceDataKey } from '../../../api/identity.ts';
import { configKeys, type PublishedCredential } from '../../../api/redis-keys.ts';
import { sealStorageKeys } from '../../../api/storage-keys.ts';
import type { EgressSettings } from '../../../gateway/egress/agent.ts';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import type { BucketEnvironment } from '../../../gateway/environment/storage-environment.ts';
import { openServerStorage, type ServerStorage } from '../../../gateway/front/front-storage.ts';
import { RemoteUrlSigner } from '../../../gateway/storage/remote-url-signer.ts';
import { createInternalServer } from '../../../gateway/storage/service/service.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { closeServer, listen, readServerPort } from '../../../kit/http-server.ts';
import type { RedisConnection } from '../../../redis/client.ts';
import { publishCredentials } from '../../../redis/publication/publication.ts';
import { readCredential } from '../../../redis/publication/published.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { TestStack } from '../../support/test-stack.ts';

export const MASTER_KEY = 'test-master-key';
export const MANAGED = 'managed';
export const CUSTOMER = 'customer';
/** Loopback stands for what the operator allows. */
const EGRESS: EgressSettings = { allow: ['127.0.0.0/8', '::1'], deny: [], plainHTTP: true };
const SPOOL_BYTES = 64 * 1024 * 1024;

export interface StorageHarness {
  redis: RedisServer;
  connection: RedisConnection;
  s3: S3Server;
  storage: ServerStorage;
  /** Origin of the internal service. */
  origin: string;
  /** As a sidecar of the workspace has it. */
  remote(
    namespace: string,
    options?: Partial<ConstructorParameters<typeof RemoteUrlSigner>[0]>,
  ): RemoteUrlSigner;
  /** Publishes a StorageCredential for the bucket `customer`, as the operator does. */
  publish(namespace: string, fields?: Partial<PublishedCredential>, keys?: typeof NO_KEYS): Promise<void>;
  /** Keys of a bucket's objects. */
  list(bucket: string): string[];
  stop(): Promise<void>;
}

const NO_KEYS = { accessKeyId: '', secretAccessKey: '' };

export interface HarnessOptions {
  bucket?: Partial<BucketEnvironment> | null;
  virtualDomain?: string;
}

export async function startStorage({
  bucket = {},
  virtualDomain,
}: HarnessOptions = {}): Promise<StorageHarness> {
  const stack = await TestStack.start({}, { commandTimeoutMs: 2_000 });
  const { server: redis, connection } = stack;
  const s3 = await startS3({ virtualDomain });
  for (const name of [MANAGED, CUSTOMER]) s3.createBucket(name);
  const folder = mkdtempSync(join(tmpdir(), 'berth-storage-'));
  const { endpoint, region, accessKeyId, secretAccessKey } = s3;
  const own = { endpoint, region, accessKeyId, secretAccessKey };
  const storage = await openServerStorage({
    environment: {
      masterKey: MASTER_KEY,
      bucket: bucket && {
        bucket: MANAGED,
        publicEndpoint: null,
        prefix: '',
        pathStyle: true,
        ...own,
        ...bucket,
      },
      spool: { folder: join(folder, 'spool'), maxBytes: SPOOL_BYTES },
    },
    redis: connection.redis,
    egress: EGRESS,
  });
  const server: Server = createInternalServer({
    masterKey: MASTER_KEY,
    urlSigner: storage.services.urlSigner,
    stores: storage.stores,
    readCredential: (namespace, id) => readCredential(connection.redis, namespace, { id }),
    egress: new EgressAgent(EGRESS),
    log: createLog('silent'),
  });
  await listen(server, 0, '127.0.0.1');
  const origin = `http://127.0.0.1:${readServerPort(server)}`;
  return {
    redis,
    connection,
    s3,
    storage,
    origin,
    remote: (namespace, options) =>
      new RemoteUrlSigner({ url: origin, namespace, token: storageToken(MASTER_KEY, namespace), ...options }),
    publish: async (namespace, fields, keys = { accessKeyId, secretAccessKey }) => {
      const place = { redisKey: configKeys(namespace).credentials, credentialId: fields?.id ?? 7 };
      const sealed = sealStorageKeys(keys, place, workspaceDataKey(MASTER_KEY, namespace));
      const where = { endpoint, region, bucket: CUSTOMER, prefix: '', pathStyle: true };
      const credential = { v: 1 as const, id: 7, name: 'own', ...where, sealed, verified: true, ...fields };
      await publishCredentials(connection.redis, namespace, [credential]);
    },
    list: (name) => {
      const top = join(s3.folder, name);
      const files = readdirSync(top, { recursive: true, encoding: 'utf8' });
      return files.filter((path) => !path.startsWith('.') && statSync(join(top, path)).isFile()).sort();
    },
    stop: async () => {
      await closeServer(server, 100);
      await storage.close();
      await stack.stop();
      await s3.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A file in the harness' spool. */
export const holdText = (harness: StorageHarness, text: string) =>
  harness.storage.services.spool.hold(pieces(Buffer.from(text)), { maxBytes: SPOOL_BYTES });

async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}
