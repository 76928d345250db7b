/** What is wrong with a store, in fixed words: errors that reveal the internal network are not passed on. */
import { EgressError, toEgressError } from '../egress/egress-error.ts';

/** Each follows "The bucket" or a bucket's name. */
const MESSAGES = {
  bucket: 'does not exist',
  credentials: 'rejects these keys: the access key is unknown, or the secret is wrong',
  denied: 'does not permit this operation with these keys: access denied',
  region: 'is in another region',
  clock:
    "cannot be used: its server's clock and this installation's are more than 10 minutes apart, so links would be refused: correct the clock that is wrong",
  full: 'is full',
  tooLarge: 'does not accept objects of this size',
  address: 'is at an address that is not allowed: the endpoint must start with https:// and be public',
  unreachable: 'cannot be reached',
  certificate: 'is behind an endpoint without a valid TLS certificate',
  slow: 'did not respond in time',
  failed: 'cannot be used now: its store is failing',
  refused: 'refused the request',
  unsupported: 'cannot be used: its store does not implement a request that is needed',
  addressing: 'is addressed in a way that its store does not support: change pathStyle',
  prefix: 'cannot be used with this prefix: no part of it may be empty, "." or ".."',
  keys: 'cannot be used: its keys were sealed with another master key',
  corrupt: 'returned content that differs from what was written',
} as const;

export type StorageReason = keyof typeof MESSAGES;

/** `reason` is for logs and decisions; the message follows "The bucket", and ends with `detail`. */
export class StorageError extends Error {
  readonly reason: StorageReason;

  constructor(reason: StorageReason, cause?: unknown, detail?: string) {
    super(detail === undefined ? MESSAGES[reason] : `${MESSAGES[reason]}: ${detail}`, { cause });
    this.reason = reason;
  }
}

/** Codes of S3 and compatible stores, if more specific than the status. */
const CODES: Record<string, StorageReason> = {
  NoSuchBucket: 'bucket',
  InvalidBucketName: 'bucket',
  InvalidAccessKeyId: 'credentials',
  XAdminUserNotFound: 'credentials',
  SignatureDoesNotMatch: 'credentials',
  AccessDenied: 'denied',
  AllAccessDisabled: 'denied',
  AccountProblem: 'denied',
  AuthorizationHeaderMalformed: 'region',
  PermanentRedirect: 'region',
  TemporaryRedirect: 'region',
  IllegalLocationConstraintException: 'region',
  RequestTimeTooSkewed: 'clock',
  QuotaExceeded: 'full',
  InsufficientStorage: 'full',
  XMinioStorageFull: 'full',
  XMinioAdminBucketQuotaExceeded: 'full',
  EntityTooLarge: 'tooLarge',
  RequestTimeout: 'slow',
  NotImplemented: 'unsupported',
  SecondLevelDomainForbidden: 'addressing',
  PathStyleDomainForbidden: 'addressing',
};

const STATUSES: Record<number, StorageReason> = {
  301: 'region',
  307: 'region',
  401: 'denied',
  403: 'denied',
  408: 'slow',
  413: 'tooLarge',
  501: 'unsupported',
  504: 'slow',
  507: 'full',
};

/** Why a store responded with something other than success. */
export const classifyAnswer = (status: number, code: string | undefined): StorageReason =>
  (code !== undefined && Object.hasOwn(CODES, code) ? CODES[code] : undefined) ??
  STATUSES[status] ??
  (status >= 500 || status === 429 ? 'failed' : 'refused');

/** Why there was no response: from an error of the network, TLS or an egress rule. */
export function classifyFailure(error: unknown): StorageReason {
  if (/^(Timeout|Abort)Error$/.test((error as Error | null)?.name ?? '')) return 'slow';
  const { kind } = error instanceof EgressError ? error : toEgressError(error);
  if (kind === 'timeout' || kind === 'aborted') return 'slow';
  if (kind === 'tls') return 'certificate';
  return kind === 'connect' || kind === 'broken' || kind === 'busy' ? 'unreachable' : 'address';
}
