/** Why a result did not reach its bucket, in fixed words (docs/api.md, "Results"). */
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { StorageReason } from './storage-error.ts';

const MESSAGES = {
  full: 'The output bucket is full.',
  denied: 'The output bucket denied access.',
  unreachable: 'The output bucket could not be reached.',
  slow: 'The output bucket did not respond in time.',
  refused: 'The output bucket rejected the result.',
  clock:
    "The output bucket rejected the result as signed too early or too late: its server's clock and the installation's are too far apart.",
  unsupported: 'The output bucket cannot store the result: its store does not implement PutObject by a link.',
  spool: 'The replica has no disk space left to store the result.',
  tooLarge: 'The result is larger than allowed.',
} as const;

export type UploadReason = keyof typeof MESSAGES;

/** The message is for clients; `code` is both an error code and a failure code. */
export class UploadError extends Error {
  readonly code = 'storage_upload_failed';
  readonly reason: UploadReason;
  /** Another attempt may succeed: the store was unavailable or failed temporarily. */
  readonly isTransient: boolean;

  constructor(reason: UploadReason, cause?: unknown, { isTransient = false } = {}) {
    super(MESSAGES[reason], { cause });
    this.reason = reason;
    this.isTransient = isTransient;
  }
}

/** Reasons shown to clients; other StorageReasons are for the owner of the bucket. */
export const toUploadReason = (reason: StorageReason): UploadReason => UPLOAD_REASONS[reason] ?? 'refused';

const UPLOAD_REASONS: Partial<Record<StorageReason, UploadReason>> = {
  full: 'full',
  credentials: 'denied',
  denied: 'denied',
  region: 'denied',
  clock: 'clock',
  unsupported: 'unsupported',
  address: 'unreachable',
  unreachable: 'unreachable',
  certificate: 'unreachable',
  slow: 'slow',
};

/** The spool is full. */
export const refuseUploads = () =>
  refuseAsUnavailable('disk', 'There is no disk space left for uploads at the moment.');
