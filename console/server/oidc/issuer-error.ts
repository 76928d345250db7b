/** Errors between the console and its OIDC issuer. */

/**
 * `away`: no response, or a useless one; `denied`: the issuer denies the user access; `rejected`: it does not accept a code or a
 * refresh token (anymore); `misconfigured`: issuer and console do not match.
 */
export type IssuerErrorKind = 'away' | 'denied' | 'rejected' | 'misconfigured';

const MAX_MESSAGE_LENGTH = 200;

export class IssuerError extends Error {
  override readonly name = 'IssuerError';
  readonly kind: IssuerErrorKind;

  /** `message`: a phrase, such as the issuer's error; it can be shown to users. */
  constructor(kind: IssuerErrorKind, message: string, options?: ErrorOptions) {
    super(clean(message), options);
    this.kind = kind;
  }
}

/** For users. `provider`: the issuer's name, at the start of a sentence. */
export function describeIssuerError({ kind, message }: IssuerError, provider: string): string {
  switch (kind) {
    case 'away':
      return `${provider} is unavailable. Try again later, or sign in with a token.`;
    case 'denied':
      return `${provider} denied the sign-in: ${message}.`;
    case 'rejected':
      return `${provider} rejected the sign-in (${message}). Try again.`;
    case 'misconfigured':
      return `Single sign-on is misconfigured: ${message}. Contact your administrator.`;
  }
}

/** Issuers' messages are shown and logged: one line of limited length. */
const clean = (text: string): string =>
  text
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '')
    .slice(0, MAX_MESSAGE_LENGTH);
