/** The end of a request: the result of a successful job, or its failure as shown in requests (docs/requests.md). */

import { PARAMETER_CODES } from '../../api/errors.ts';
import type { ResolvedLimits } from '../../api/model-limits.ts';
import { FAILURE_CODES, type FailureCode } from '../../api/request.ts';
import type { JobOutcome } from '../../redis/requests/request-calls.ts';
import { EngineMemoryError } from '../engine/engine-error.ts';
import type { Job } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import { DownloadError } from '../storage/download.ts';
import { UploadError } from '../storage/upload-error.ts';
import type { StoredFiles } from '../storage/uploads.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';

/** Managed results are kept this long after the last link to them can be requested. */
const LINK_LIFE_MS = 3_600_000;

export interface SuccessDetails {
  /** Name of the StorageCredential; null = managed storage. */
  credential: string | null;
  /** One per file; null if none could be signed. */
  links: readonly (string | null)[];
  limits: Pick<ResolvedLimits, 'resultRetentionMs'>;
  /** Unix milliseconds. */
  now?: number;
}

/** Managed objects are removed after their retention; customers manage their own (docs/api.md, "Results"). */
export function buildSuccess(
  { bucket, provider, objects }: StoredFiles,
  { credential, links, limits, now = Date.now() }: SuccessDetails,
): JobOutcome {
  const retentionMs = credential === null ? limits.resultRetentionMs : null;
  const removeInMs = retentionMs === null ? null : retentionMs + LINK_LIFE_MS;
  return {
    status: 'succeeded',
    output: { bucket, keys: objects.map(({ key }) => key), credential, provider, retentionMs },
    payload: {
      created: Math.floor(now / 1_000),
      data: objects.map(({ key }, index) => ({ url: links[index] ?? null, object_key: key })),
    },
    objects: objects.map((object) => ({ object, removeInMs })),
  };
}

export function countJob(
  usage: DeploymentUsage,
  { status }: { status: 'succeeded' | 'failed' },
  { spec, milliseconds }: { spec: Job | null; milliseconds: number },
): void {
  usage.observe(milliseconds);
  if (status === 'failed') usage.add('serverErrors');
  else if (spec?.kind === 'image') usage.add('images', spec.parameters.n);
  else if (spec?.kind === 'video') {
    usage.add('videos');
    usage.add('videoMilliseconds', Math.round((spec.parameters.frames / spec.parameters.fps) * 1000));
  }
}

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

const REFUSALS = new Set<string>([
  'invalid_request_error',
  ...PARAMETER_CODES,
  'request_too_large',
  'invalid_image',
]);
/** Not caused by engines: signing or the bucket failed. */
const STORAGE_ERRORS = new Set([
  'temporarily_unavailable',
  'storage_credential_not_found',
  'storage_credential_not_verified',
  'storage_upload_failed',
]);

/** null: an internal error, to be logged; callers get no details. */
export function toFailure(error: unknown): Failure | null {
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
