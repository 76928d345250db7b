/** A video's prompt as it lies in Redis for as long as its record: sealed, for the Video object alone to show. */
import { workKeys } from './redis-keys.ts';
import { openText, sealText } from './sealed-text.ts';

/** Redis is no place for more; what is over is cut. */
export const MAX_PROMPT_BYTES = 4096;
/** Of base64url, with room for what sealing adds. */
export const MAX_SEALED_PROMPT_LENGTH = Math.ceil(((MAX_PROMPT_BYTES + 64) / 3) * 4);

const CUT = '…';
const placeOf = (namespace: string, id: string) => [workKeys(namespace).prompt(id)];

/** `key`: as promptKey gives. */
export const sealPrompt = (
  prompt: string,
  { namespace, id }: { namespace: string; id: string },
  key: Buffer,
): string => sealText(limitPrompt(prompt), placeOf(namespace, id), key);

/** null for what was changed or belongs to another request. */
export const openPrompt = (
  sealed: string,
  { namespace, id }: { namespace: string; id: string },
  key: Buffer,
): string | null => openText(sealed, placeOf(namespace, id), key);

/** Whole characters only. */
function limitPrompt(prompt: string): string {
  const room = Buffer.alloc(MAX_PROMPT_BYTES - Buffer.byteLength(CUT));
  const { read } = new TextEncoder().encodeInto(prompt, room);
  return read === prompt.length ? prompt : prompt.slice(0, read) + CUT;
}
