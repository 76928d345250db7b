/** A StorageCredential's keys as they lie in Redis: sealed with the workspace's data key. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Static ones only: a session token would end before a link of 7 days does. */
export interface StorageKeys {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Where sealed keys belong; elsewhere they do not open. */
export interface SealPlace {
  /** The Redis key in which they lie. */
  redisKey: string;
  credentialId: number;
}

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES;

/** Base64url of version, nonce, ciphertext and tag. `dataKey`: 32 bytes, as workspaceDataKey gives. */
export function sealStorageKeys(
  { accessKeyId, secretAccessKey }: StorageKeys,
  place: SealPlace,
  dataKey: Buffer,
): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, dataKey, nonce).setAAD(describePlace(place));
  const text = JSON.stringify([accessKeyId, secretAccessKey]);
  const sealed = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([Buffer.from([VERSION]), nonce, ...sealed]).toString('base64url');
}

/** null for what was changed, belongs elsewhere or was sealed with another key. */
export function openStorageKeys(sealed: string, place: SealPlace, dataKey: Buffer): StorageKeys | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < HEADER_BYTES + TAG_BYTES || bytes[0] !== VERSION) return null;
  const nonce = bytes.subarray(1, HEADER_BYTES);
  const decipher = createDecipheriv(ALGORITHM, dataKey, nonce, { authTagLength: TAG_BYTES })
    .setAAD(describePlace(place))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = [decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()];
    const [accessKeyId, secretAccessKey] = JSON.parse(Buffer.concat(text).toString()) as [string, string];
    return { accessKeyId, secretAccessKey };
  } catch {
    return null;
  }
}

const describePlace = ({ redisKey, credentialId }: SealPlace): Buffer =>
  Buffer.from(JSON.stringify([redisKey, credentialId]));
