/** Links that Berth signs itself, expiring like S3's: into the folder of `make run`, and to results at an endpoint. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

export interface LinkClaims {
  method: 'GET' | 'PUT';
  /** The first part of the path. */
  bucket: string;
  key: string;
  /** Unix seconds at which the link expires. */
  expires: number;
  contentType?: string;
  /** GET: for an attachment. */
  fileName?: string;
  /** PUT: bytes, exactly. */
  contentLength?: number;
}

export type LinkVerdict = LinkClaims | 'tampered' | 'expired';

/** `base`: such as `http://127.0.0.1:1234`, without a slash at its end. */
export function signLink(base: string, claims: LinkClaims, secret: Buffer): string {
  const path = [claims.bucket, ...claims.key.split('/')].map(encodeURIComponent).join('/');
  const query = new URLSearchParams({ expires: String(claims.expires) });
  if (claims.contentType !== undefined) query.set('type', claims.contentType);
  if (claims.fileName !== undefined) query.set('name', claims.fileName);
  if (claims.contentLength !== undefined) query.set('length', String(claims.contentLength));
  query.set('signature', computeSignature(claims, secret).toString('base64url'));
  return `${base}/${path}?${query}`;
}

/** `target`: path and query, after the link's base. `nowMs`: Unix milliseconds. What a tampered link says is never read. */
export function readLink(method: 'GET' | 'PUT', target: string, secret: Buffer, nowMs: number): LinkVerdict {
  const end = target.indexOf('?');
  const parts = decodePath(end < 0 ? target : target.slice(0, end));
  if (!parts) return 'tampered';
  const [, bucket = '', ...key] = parts;
  const query = new URLSearchParams(end < 0 ? '' : target.slice(end));
  const length = query.get('length');
  const claims: LinkClaims = {
    method,
    bucket,
    key: key.join('/'),
    expires: Number(query.get('expires')),
    contentType: query.get('type') ?? undefined,
    fileName: query.get('name') ?? undefined,
    contentLength: length === null ? undefined : Number(length),
  };
  const signature = Buffer.from(query.get('signature') ?? '', 'base64url');
  const expected = computeSignature(claims, secret);
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return 'tampered';
  return nowMs < claims.expires * 1_000 ? claims : 'expired';
}

/** null if it is malformed. */
function decodePath(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}

function computeSignature(claims: LinkClaims, secret: Buffer): Buffer {
  const { method, bucket, key, expires, contentType, fileName, contentLength } = claims;
  const text = JSON.stringify([
    method,
    bucket,
    key,
    expires,
    contentType ?? null,
    fileName ?? null,
    contentLength ?? null,
  ]);
  return createHmac('sha256', createSecretKey(secret)).update(text).digest();
}
