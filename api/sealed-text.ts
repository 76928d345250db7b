/** Secrets as they lie in Redis: sealed with the workspace's data key, of use in their own place only. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES;

/** Where a sealed text belongs, such as its Redis key and what it is; elsewhere it does not open. */
export type SealPlace = readonly (string | number)[];

/** Base64url of version, nonce, ciphertext and tag. `dataKey`: 32 bytes, as workspaceDataKey gives. */
export function sealText(text: string, place: SealPlace, dataKey: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, dataKey, nonce).setAAD(describePlace(place));
  const sealed = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([Buffer.from([VERSION]), nonce, ...sealed]).toString('base64url');
}

/** null for what was changed, belongs elsewhere or was sealed with another key. */
export function openText(sealed: string, place: SealPlace, dataKey: Buffer): string | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < HEADER_BYTES + TAG_BYTES || bytes[0] !== VERSION) return null;
  const nonce = bytes.subarray(1, HEADER_BYTES);
  const decipher = createDecipheriv(ALGORITHM, dataKey, nonce, { authTagLength: TAG_BYTES })
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
