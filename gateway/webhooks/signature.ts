/** Signatures of deliveries: the documented one (docs/api.md, "Webhooks"), and that of standardwebhooks.com. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { SigningSecrets } from '../../api/signing-secret.ts';

/**
 * `t=<unix seconds>,v1=<hex HMAC-SHA256>` over `<t>.` and the exact bytes of the body, keyed with the secret's text; a
 * second `v1` with the previous secret while a roll keeps it.
 */
export function signDelivery(body: Buffer, secrets: SigningSecrets, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1_000);
  const digests = listValid(secrets, nowMs).map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')}`,
  );
  return [`t=${seconds}`, ...digests].join(',');
}

/**
 * `webhook-signature` of the Standard Webhooks scheme, which the OpenAI SDKs verify: `v1,<base64 HMAC-SHA256>` over
 * `<id>.<unix seconds>.` and the body, one for each valid secret. `id` is the event's, the same in all attempts.
 */
export function signMessage(
  { id, body }: { id: string; body: Buffer },
  secrets: SigningSecrets,
  nowMs: number,
): string {
  const seconds = Math.floor(nowMs / 1_000);
  const digests = listValid(secrets, nowMs).map(
    (secret) =>
      `v1,${createHmac('sha256', decodeKey(secret)).update(`${id}.${seconds}.`).update(body).digest('base64')}`,
  );
  return digests.join(' ');
}

const listValid = ({ current, previous }: SigningSecrets, nowMs: number): string[] =>
  previous && nowMs < previous.until ? [current, previous.secret] : [current];

/** What follows the prefix: see `decodeSigningSecret`, which an operator has passed it through. */
const decodeKey = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
