/** Unverified claims of a bearer token, if it is a JWT. Only the API server verifies tokens. Pure. */
import { z } from 'zod';

export interface TokenClaims {
  /** Unix milliseconds; null if unknown. */
  endsAt: number | null;
  /** A service account's namespace; null for other users. */
  namespace: string | null;
}

const claims = z.object({
  exp: z.number().optional().catch(undefined),
  'kubernetes.io': z.object({ namespace: z.string() }).optional().catch(undefined),
  /** Tokens in Secrets, which do not expire. */
  'kubernetes.io/serviceaccount/namespace': z.string().optional().catch(undefined),
});

export function readTokenClaims(token: string): TokenClaims {
  const read = claims.safeParse(decodePayload(token));
  if (!read.success) return { endsAt: null, namespace: null };
  const { exp, 'kubernetes.io': bound, 'kubernetes.io/serviceaccount/namespace': unbound } = read.data;
  return { endsAt: exp === undefined ? null : exp * 1_000, namespace: bound?.namespace ?? unbound ?? null };
}

function decodePayload(token: string): unknown {
  const [, payload = ''] = token.split('.');
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    return undefined;
  }
}
