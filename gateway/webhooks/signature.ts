/** What receivers know a delivery by (docs/api.md, "Webhooks"). */
import { createHmac } from 'node:crypto';
import type { SigningSecrets } from '../../api/signing-secret.ts';

export const SIGNATURE_HEADER = 'X-Service-Signature';

/**
 * `t=<unix seconds>,v1=<hex HMAC-SHA256>` over `<t>.` and the exact bytes of the body, keyed with the secret's text; a
 * second `v1` by the previous secret while a roll keeps it.
 */
export function signDelivery(body: Buffer, { current, previous }: SigningSecrets, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1_000);
  const secrets = previous && nowMs < previous.until ? [current, previous.secret] : [current];
  const digests = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')}`,
  );
  return [`t=${seconds}`, ...digests].join(',');
}
