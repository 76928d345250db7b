/** TLS to Redis: which authorities to trust, read at each connect, and what a rejected certificate means. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

export interface TLSSettings {
  /** PEM of the authorities to trust; the system's if there is no such file. */
  caFile?: string | undefined;
  /** The name that the certificate must have, if it differs from the host. */
  serverName?: string | undefined;
}

/** Options of `tls.connect`. The file is read by each connect, so that a rotated authority needs no restart. */
export function buildTLSOptions({ caFile, serverName }: TLSSettings): ConnectionOptions {
  return {
    get ca() {
      return caFile === undefined ? undefined : readAuthorities(caFile);
    },
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}

/** undefined if there is no file, or it is empty. */
function readAuthorities(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

/** What the administrator should check; undefined for errors that are not about TLS. */
export function explainTLSError(error: Error, { caFile }: TLSSettings): string | undefined {
  const code = 'code' in error ? String(error.code) : '';
  if (UNTRUSTED.has(code)) {
    const isPrivate = caFile !== undefined && readAuthorities(caFile) !== undefined;
    const signer = isPrivate ? `an authority in ${caFile}` : 'an authority that the system trusts';
    return `the certificate of Redis is not signed by ${signer} (${code})`;
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `the certificate of Redis has expired or is not yet valid (${code})`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of Redis is for a different host name: ${error.message}`;
  return undefined;
}
