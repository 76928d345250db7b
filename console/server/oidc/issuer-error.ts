/** What may go wrong between the console and its OIDC issuer. */

/**
 * `away`: no answer, or none of use; `denied`: the issuer does not let the user in; `rejected`: it does not accept a code or a
 * refresh token (any more); `misconfigured`: issuer and console do not fit together.
 */
export type IssuerErrorKind = 'away' | 'denied' | 'rejected' | 'misconfigured';

const MAX_MESSAGE_LENGTH = 200;

export class IssuerError extends Error {
  override readonly name = 'IssuerError';
  readonly kind: IssuerErrorKind;

  /** `message`: a phrase, such as what the issuer says; it can be shown to users. */
  constructor(kind: IssuerErrorKind, message: string, options?: ErrorOptions) {
    super(clean(message), options);
    this.kind = kind;
  }
}

/** For users. `provider`: who the issuer is, at the start of a sentence. */
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

/** What issuers say is shown and logged: one line of limited length. */
const clean = (text: string): string =>
  text
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '')
    .slice(0, MAX_MESSAGE_LENGTH);
