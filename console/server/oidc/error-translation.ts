/** Errors of openid-client as errors of the issuer. */
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { IssuerError, type IssuerErrorKind } from './issuer-error.ts';

/** Errors with which the browser may return; others are configuration errors. */
const SIGN_IN_ERRORS: Partial<Record<string, IssuerErrorKind>> = {
  access_denied: 'denied',
  login_required: 'denied',
  consent_required: 'denied',
  interaction_required: 'denied',
  account_selection_required: 'denied',
  server_error: 'away',
  temporarily_unavailable: 'away',
};

/** Throws IssuerError. */
export function translateError(error: unknown): never {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof IssuerError) throw cause;
  if (error instanceof AuthorizationResponseError) {
    const kind = SIGN_IN_ERRORS[error.error] ?? 'misconfigured';
    const isExplained = kind === 'denied' && error.error_description;
    throw new IssuerError(kind, isExplained || formatError(error), { cause: error });
  }
  if (error instanceof ResponseBodyError) {
    const kind = error.error === 'invalid_grant' ? 'rejected' : 'misconfigured';
    throw new IssuerError(kind, formatError(error), { cause: error });
  }
  if (error instanceof ClientError && error.code === 'OAUTH_TIMEOUT')
    throw new IssuerError('away', 'the issuer did not respond in time', { cause: error });
  throw new IssuerError('misconfigured', describe(error), { cause: error });
}

const formatError = ({ error, error_description }: AuthorizationResponseError | ResponseBodyError): string =>
  [error, error_description].filter(Boolean).join(': ');

/** The cause is more specific than the library's summary. */
const describe = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? `${error.message}: ${error.cause.message}`
    : String((error as Error).message ?? error);
