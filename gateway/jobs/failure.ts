/** Says why a job failed, in the words of a request (docs/requests.md). */
import { FAILURE_CODES, type FailureCode } from '../../api/request.ts';
import { EngineMemoryError } from '../engine/engine-error.ts';
import { ApiError } from '../http/error-response.ts';
import { DownloadError } from '../storage/download.ts';
import { UploadError } from '../storage/upload-error.ts';

export interface Failure {
  code: FailureCode;
  message: string;
}

/** The job itself is at fault: no replica could run it. */
export class JobError extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const REFUSALS = new Set(['invalid_request_error', 'request_too_large', 'invalid_image']);
/** Engines have no part in these: nobody signed, or the bucket did not take it. */
const STORAGE_ERRORS = new Set([
  'temporarily_unavailable',
  'storage_credential_not_found',
  'storage_credential_not_verified',
  'storage_upload_failed',
]);

/** null: an internal error, to be logged; callers get no details. */
export function describeFailure(error: unknown): Failure | null {
  if (error instanceof JobError || error instanceof UploadError)
    return { code: error.code, message: error.message };
  if (error instanceof DownloadError) return { code: 'upstream_error', message: error.message };
  if (error instanceof EngineMemoryError) return { code: 'vram_exceeded', message: error.message };
  if (!(error instanceof ApiError)) return null;
  return { code: chooseCode(error.code), message: error.message };
}

function chooseCode(code: string): FailureCode {
  if (REFUSALS.has(code)) return 'invalid_input';
  return STORAGE_ERRORS.has(code) ? 'storage_upload_failed' : 'upstream_error';
}

export const OWN_FAULT: Failure = { code: 'upstream_error', message: FAILURE_CODES.upstream_error };
