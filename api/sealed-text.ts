/**
 * Secrets in Redis: sealed with the workspace's data key and bound to their place. Each call makes a KeyObject, since Node 24 takes longer
 * to recognize a key in bytes than to use it.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES;

/** The place of a sealed text, such as its Redis key and purpose; elsewhere it does not open. */
export type SealPlace = readonly (string | number)[];

/** Base64url of version, nonce, ciphertext and tag. `dataKey`: 32 bytes, from workspaceDataKey. */
export function sealText(text: string, place: SealPlace, dataKey: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, createSecretKey(dataKey), nonce).setAAD(describePlace(place));
  const sealed = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([Buffer.from([VERSION]), nonce, ...sealed]).toString('base64url');
}

/** null if it was changed, belongs elsewhere or was sealed with another key. */
export function openText(sealed: string, place: SealPlace, dataKey: Buffer): string | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < HEADER_BYTES + TAG_BYTES || bytes[0] !== VERSION) return null;
  const nonce = bytes.subarray(1, HEADER_BYTES);
  const decipher = createDecipheriv(ALGORITHM, createSecretKey(dataKey), nonce, { authTagLength: TAG_BYTES })
    .setAAD(describePlace(place))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]).toString();
  } catch {
    return null;
  }
}

const describePlace = (place: SealPlace): Buffer => Buffer.from(JSON.stringify(place));
