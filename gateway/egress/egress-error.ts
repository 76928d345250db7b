/** Why a tenant's URL was not fetched, in fixed words: errors that reveal the internal network are not passed on. */
import { readConnectionFailure } from '../../kit/connection-error.ts';

const NOT_PUBLIC = 'does not resolve to a public address';

/** Each follows the name of the field with the URL. */
const MESSAGES = {
  url: 'is not a valid URL',
  scheme: 'must start with https://',
  userinfo: 'must not contain a user name or password',
  port: 'must use the default port or one above 1023',
  address: NOT_PUBLIC,
  // The same words, or a caller could probe which internal names exist.
  unresolvable: NOT_PUBLIC,
  busy: 'is delayed: too many requests are in progress',
  connect: 'does not accept connections',
  tls: 'has no valid TLS certificate',
  timeout: 'did not respond in time',
  broken: 'closed the connection or did not respond with HTTP',
  redirects: 'redirects more than 5 times',
  aborted: 'was aborted',
} as const;

export type EgressErrorKind = keyof typeof MESSAGES;

/** `kind` is for logs and decisions; only the message is for tenants. */
export class EgressError extends Error {
  readonly kind: EgressErrorKind;

  constructor(kind: EgressErrorKind) {
    super(MESSAGES[kind]);
    this.kind = kind;
  }
}

/** From an error of undici, TLS or the system. */
export function toEgressError(error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  switch (readConnectionFailure(error)) {
    case 'refused':
    case 'unreachable':
      return new EgressError('connect');
    case 'connect_timeout':
    case 'response_timeout':
      return new EgressError('timeout');
  }
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return new EgressError(/CERT|TLS|SSL|ISSUER|SIGN|EPROTO/.test(code) ? 'tls' : 'broken');
}
