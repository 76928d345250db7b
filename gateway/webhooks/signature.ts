/** What receivers know a delivery by (contract: Authentication, 6). */
import { createHmac } from 'node:crypto';

export const SIGNATURE_HEADER = 'X-Service-Signature';

/** `t=<unix seconds>,v1=<hex HMAC-SHA256>` over `<t>.` and the exact bytes of the body, keyed with the secret's text. */
export function signDelivery(body: Buffer, secret: string, unixSeconds: number): string {
  const digest = createHmac('sha256', secret).update(`${unixSeconds}.`).update(body).digest('hex');
  return `t=${unixSeconds},v1=${digest}`;
}
