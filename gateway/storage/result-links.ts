/**
 * Links to results at a deployment's own endpoint. Each names the store and the object; its signature is by a secret of the
 * deployment, so it says nothing at another (decision 0358).
 */
import { MAX_LINK_SECONDS } from './object-store.ts';
import { type LinkClaims, readLink, signLink } from './signed-links.ts';

export interface ResultLink {
  /** Origin of the endpoint. */
  origin: string;
  /** Name of a StorageCredential; null = the managed bucket. */
  credential: string | null;
  /** With the store's prefix. */
  key: string;
  fileName?: string | undefined;
  expiresInSeconds: number;
}

export type ResultVerdict = Pick<ResultLink, 'credential' | 'key' | 'fileName'> | 'tampered' | 'expired';

export const RESULTS_PATH = '/v1/results';
/** No name of an object. */
const MANAGED = '-';

export function signResultLink(
  { origin, credential, key, fileName, expiresInSeconds }: ResultLink,
  secret: Buffer,
): string {
  if (expiresInSeconds > MAX_LINK_SECONDS) throw new RangeError('a link is valid for at most 7 days');
  const claims: LinkClaims = {
    method: 'GET',
    bucket: credential ?? MANAGED,
    key,
    expires: Math.floor(Date.now() / 1_000) + expiresInSeconds,
    fileName,
  };
  return signLink(`${origin}${RESULTS_PATH}`, claims, secret);
}

/** `target`: of the request, with its query. `nowMs`: Unix milliseconds. */
export function readResultLink(target: string, secret: Buffer, nowMs: number): ResultVerdict {
  if (!target.startsWith(`${RESULTS_PATH}/`)) return 'tampered';
  const claims = readLink('GET', target.slice(RESULTS_PATH.length), secret, nowMs);
  if (claims === 'tampered' || claims === 'expired') return claims;
  const { bucket, key, fileName } = claims;
  return { credential: bucket === MANAGED ? null : bucket, key, fileName };
}
