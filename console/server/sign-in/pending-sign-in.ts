/**
 * A pending sign-in at the issuer. The browser keeps it, sealed with a key derived from `state`, which only the
 * URL has: neither alone reveals the nonce and the verifier, and another browser's response opens nothing.
 */
import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import { openText, sealText } from '../../../api/sealed-text.ts';

const pendingSignIn = z.object({
  nonce: z.string(),
  verifier: z.string(),
  /** The callback's URL. */
  redirectURI: z.string(),
  /** Path of the page where the user was. */
  returnTo: z.string(),
  /** Entered at sign-in. */
  namespace: z.string().optional(),
  /** Unix milliseconds. */
  endsAt: z.number(),
});
export type PendingSignIn = z.output<typeof pendingSignIn>;

/** Enough time for a password and a second factor. */
export const PENDING_SECONDS = 15 * 60;

const PLACE = ['oidc-sign-in'];

export const sealPending = (pending: PendingSignIn, state: string): string =>
  sealText(JSON.stringify(pending), PLACE, deriveKey(state));

/** null if it is too old, or was sealed for another `state`. */
export function openPending(sealed: string, state: string, now: number): PendingSignIn | null {
  const text = openText(sealed, PLACE, deriveKey(state));
  const pending = text === null ? null : pendingSignIn.parse(JSON.parse(text));
  return pending && pending.endsAt > now ? pending : null;
}

const deriveKey = (state: string) => Buffer.from(hkdfSync('sha256', state, 'berth', 'v1/console-oidc', 32));
