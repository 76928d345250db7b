/** Reads a StorageCredential's keys from its Secret, and reports what is wrong with them. */
import type { StorageCredential } from '../../api/storage-credential.ts';
import type { StorageKeys } from '../../api/storage-keys.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { Problem } from '../status/problem.ts';

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

const FIELDS = ['accessKeyId', 'secretAccessKey'] as const;
/** It would expire before a link of 7 days. */
const SESSION_FIELD = 'sessionToken';
const PLAIN = /^[\x21-\x7e]{1,1024}$/;

export async function readStorageKeys(
  client: Pick<KubeClient, 'find'>,
  { metadata, spec }: StorageCredential,
  signal: AbortSignal,
): Promise<StorageKeys | Problem> {
  const at = { namespace: metadata.namespace, name: spec.secret };
  const secret = await client.find<Secret>(RESOURCES.Secret, at, { signal });
  if (!secret) return { reason: 'SecretNotFound', message: `spec.secret: Secret ${spec.secret} not found` };
  const fields = new Map(
    Object.entries(secret.data ?? {}).map(([name, text]) => [
      name,
      Buffer.from(text, 'base64').toString().trim(),
    ]),
  );
  const missing = FIELDS.filter((field) => !fields.get(field));
  if (missing.length > 0)
    return {
      reason: 'SecretKeyNotFound',
      message: `spec.secret: Secret ${spec.secret} has no ${missing.join(' and no ')}`,
    };
  if (fields.get(SESSION_FIELD))
    return {
      reason: 'SessionToken',
      message: `spec.secret: Secret ${spec.secret} has a ${SESSION_FIELD}: use keys that do not expire, because links are valid for 7 days`,
    };
  const [accessKeyId, secretAccessKey] = FIELDS.map((field) => fields.get(field)!) as [string, string];
  if (!PLAIN.test(accessKeyId) || !PLAIN.test(secretAccessKey))
    return {
      reason: 'SecretInvalid',
      message: `spec.secret: a key in Secret ${spec.secret} contains spaces, line breaks or other characters that are not valid in an S3 key`,
    };
  return { accessKeyId, secretAccessKey };
}
