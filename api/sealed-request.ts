/**
 * User content in Redis, sealed: a request's parameters until it ends, for its worker; a video's prompt for as
 * long as its record, for the Video object to show (decision 0288).
 */
import { workKeys } from './redis-keys.ts';
import { MAX_PARAMS_BYTES } from './request.ts';
import { openText, sealText } from './sealed-text.ts';

/** Limit in Redis; the rest is truncated. */
export const MAX_PROMPT_BYTES = 4096;
export const MAX_SEALED_PROMPT_LENGTH = measureSealed(MAX_PROMPT_BYTES);
/** As read by `worker.lua`. */
export const MAX_SEALED_PARAMS_LENGTH = measureSealed(MAX_PARAMS_BYTES);

const CUT = '…';
const promptPlace = ({ namespace, id }: RequestName) => [workKeys(namespace).prompt(id)];
const paramsPlace = ({ namespace, id }: RequestName) => [workKeys(namespace).params(id)];

interface RequestName {
  namespace: string;
  id: string;
}

/** `key`: from promptKey. */
export const sealPrompt = (prompt: string, request: RequestName, key: Buffer): string =>
  sealText(limitPrompt(prompt), promptPlace(request), key);

/** null if it was changed or belongs to another request. */
export const openPrompt = (sealed: string, request: RequestName, key: Buffer): string | null =>
  openText(sealed, promptPlace(request), key);

/** `params`: at most MAX_PARAMS_BYTES. `key`: from promptKey. */
export const sealParams = (params: string, request: RequestName, key: Buffer): string =>
  sealText(params, paramsPlace(request), key);

/** null if it was changed or belongs to another request. */
export const openParams = (sealed: string, request: RequestName, key: Buffer): string | null =>
  openText(sealed, paramsPlace(request), key);

/** Characters of base64url, including the overhead of sealing. */
function measureSealed(bytes: number): number {
  return Math.ceil(((bytes + 64) / 3) * 4);
}

/** Whole characters only. */
function limitPrompt(prompt: string): string {
  const buffer = Buffer.alloc(MAX_PROMPT_BYTES - Buffer.byteLength(CUT));
  const { read } = new TextEncoder().encodeInto(prompt, buffer);
  return read === prompt.length ? prompt : prompt.slice(0, read) + CUT;
}
