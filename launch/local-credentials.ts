/** The StorageCredentials of `make run`: those of the manifests and the example's, verified as the operator has it done. */
import { deriveId, workspaceDataKey } from '../contract/identity.ts';
import { configKeys, type PublishedCredential } from '../contract/redis-keys.ts';
import type { StorageCredential } from '../contract/storage-credential.ts';
import { type StorageKeys, sealStorageKeys } from '../contract/storage-keys.ts';
import type { EgressSettings } from '../gateway/egress/agent.ts';
import { S3Store } from '../gateway/storage/s3-store.ts';
import type { CustomerBucket } from './local-buckets.ts';
import type { Secret } from './manifests.ts';

/** As it is published, with its keys not yet sealed. */
export interface LocalCredential extends Omit<PublishedCredential, 'sealed' | 'verified'> {
  namespace: string;
  keys: StorageKeys;
}

/** Throws where its Secret is not there, or lacks the keys. */
export function resolveCredential(
  { metadata: { namespace, name }, spec }: StorageCredential,
  secrets: readonly Secret[],
): LocalCredential {
  const secret = secrets.find((secret) => secret.namespace === namespace && secret.name === spec.secret);
  const { accessKeyId, secretAccessKey } = secret?.texts ?? {};
  if (!accessKeyId || !secretAccessKey)
    throw new Error(`Secret ${spec.secret} with accessKeyId and secretAccessKey is missing`);
  return {
    v: 1,
    namespace,
    name,
    id: spec.id ?? deriveId('StorageCredential', namespace, name),
    endpoint: spec.endpoint ?? null,
    region: spec.region,
    bucket: spec.bucket,
    prefix: spec.prefix,
    pathStyle: spec.pathStyle,
    keys: { accessKeyId, secretAccessKey },
  };
}

export const toCredential = (bucket: CustomerBucket, namespace: string): LocalCredential => ({
  v: 1,
  namespace,
  region: 'us-east-1',
  prefix: '',
  pathStyle: true,
  ...bucket,
});

export interface VerifiedCredential extends LocalCredential {
  /** What is wrong with it, in words; null: it can be used. */
  fault: string | null;
}

/** Puts, gets and deletes an object. */
export async function verifyCredential(
  credential: LocalCredential,
  egress: EgressSettings,
): Promise<VerifiedCredential> {
  const { keys, endpoint, region, bucket, prefix, pathStyle } = credential;
  const place = { endpoint, publicEndpoint: null, region, bucket, prefix, pathStyle };
  let store: S3Store | undefined;
  try {
    store = new S3Store({ ...place, ...keys, provider: null, egress });
    await store.verify();
    return { ...credential, fault: null };
  } catch (error) {
    return { ...credential, fault: `bucket ${bucket} ${(error as Error).message}` };
  } finally {
    store?.close();
  }
}

export function sealCredential(
  { namespace, keys, fault, ...credential }: VerifiedCredential,
  masterKey: string,
): PublishedCredential {
  const place = { redisKey: configKeys(namespace).credentials, credentialId: credential.id };
  const sealed = sealStorageKeys(keys, place, workspaceDataKey(masterKey, namespace));
  return { ...credential, sealed, verified: fault === null };
}
