/** Transfers a job's files: inputs from storage to disk, results from disk to storage. */

import { readFile } from 'node:fs/promises';
import type { StoredObject } from '../../api/request.ts';
import { openParams } from '../../api/sealed-request.ts';
import { retry } from '../../kit/retry.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import type { Claim } from '../../redis/requests/request-calls.ts';
import { type Job, parseJob } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import { DownloadError, holdObject } from '../storage/download.ts';
import { resultKey } from '../storage/object-keys.ts';
import type { SpooledFile } from '../storage/spool.ts';
import { UploadError } from '../storage/upload-error.ts';
import { type StoredFiles, storeFiles } from '../storage/uploads.ts';
import type { LinkPlace } from '../storage/url-signer.ts';
import { inSpan, type Span } from '../tracing/span.ts';
import type { ResultFile } from './engine-job.ts';
import { MAX_TIMER_MS } from './lease.ts';
import type { StorageServices } from './services.ts';

export interface JobContext {
  redis: RedisClient;
  storage: StorageServices;
  claim: Claim;
  /** Until the job's deadline. */
  remainingMs: () => number;
  signal: AbortSignal;
  /** This replica is shutting down, and another one may retry. */
  isShuttingDown?: () => boolean;
  /** Between attempts; a second. */
  delayMs?: number;
  /** Monotonic milliseconds. */
  now?: () => number;
  /** Span of the job; null or absent: no tracing. */
  span?: Span | null;
}

const RETRY_DELAY_MS = 1_000;
/** Retry time for a store while an engine or another replica waits, and for a customer's that refuses connections. */
const STORE_RETRY_TIMEOUT_MS = 60_000;
/** Retry time for signing that the front refuses, such as while a credential is being reverified. */
const SIGNING_RETRY_TIMEOUT_MS = 60_000;
/** Upload links expire after 15 minutes: a later failure may only need a new one. */
const FRESH_LINK_MS = 10 * 60_000;
/** Margin before the deadline, which would end a job without the reason it was stuck. */
const FINAL_CALL_TIMEOUT_MS = 2_000;
/** Orphaned results are removed this long after the deadline. */
const ORPHANED_MS = 3_600_000;
const LINK_SECONDS = 3_600;
const CUSTOMER_IMAGE_LINK_SECONDS = 7 * 24 * 3_600;

/**
 * Downloads an input to disk; retries an unavailable store for at most a minute, since the engine waits. Throws
 * DownloadError, UploadError, ApiError or the signal's reason.
 */
export const fetchObject = (job: JobContext, object: StoredObject, maxBytes: number): Promise<SpooledFile> =>
  retryTransient(
    job,
    () =>
      holdObject(job.storage, {
        namespace: job.claim.namespace,
        object,
        maxBytes,
        deadlineMs: limitTransfer(job),
        signal: job.signal,
      }),
    () => true,
  );

const MAX_PARAMETERS_BYTES = 16 * 1024 * 1024;

/** The job in a record's sealed parameters, or in the object that they refer to; null if unknown to this version. */
export async function readJob(storage: JobContext, params: string): Promise<Job | null> {
  const { claim } = storage;
  const key = storage.storage.promptKey(claim.namespace);
  const opened = key && openParams(params, claim, key);
  const job = opened === null ? null : parseJob(opened);
  if (job?.kind !== 'stored') return job;
  const file = await fetchObject(storage, job.object, MAX_PARAMETERS_BYTES);
  try {
    const stored = parseJob(await readFile(file.path, 'utf8'));
    return stored?.kind === 'stored' ? null : stored;
  } finally {
    await file.remove();
  }
}

/**
 * Uploads all files under the claim's own keys. Fails once a customer's bucket has refused connections for a minute; Berth's
 * own is waited for. Throws UploadError, ApiError or the signal's reason.
 */
export const storeResults = (
  job: JobContext,
  credential: string | null,
  files: readonly ResultFile[],
): Promise<StoredFiles> => {
  const { namespace: workspace, id: request, token } = job.claim;
  const place = { workspace, request, token };
  const store = () =>
    retryTransient(
      job,
      () =>
        storeFiles(
          { ...job.storage, redis: job.redis },
          {
            namespace: workspace,
            credential,
            files: files.map(({ file, extension, contentType }, index) => ({
              file,
              key: resultKey(place, index, extension),
              contentType,
            })),
            removeInMs: job.remainingMs() + ORPHANED_MS,
            deadlineMs: limitTransfer(job),
            retryTimeoutMs: STORE_RETRY_TIMEOUT_MS,
            signal: job.signal,
          },
        ).catch((error) => {
          throw credential !== null && isRefused(error) ? new UploadError(error.reason, error) : error;
        }),
      // Finished results wait for their store, unless the replica is shutting down.
      () => job.isShuttingDown?.() ?? false,
    );
  return inSpan(job.span, 'upload', store, { attributes: { 'berth.files': files.length } });
};

/** Links to the results; null for each that cannot be signed now. */
export async function signResults(
  { storage, claim }: JobContext,
  { objects }: StoredFiles,
  kind: 'image' | 'video',
  place: LinkPlace | undefined,
): Promise<(string | null)[]> {
  const credential = objects[0]?.credential ?? null;
  const isLong = credential !== null && kind === 'image';
  const question = {
    namespace: claim.namespace,
    credential,
    objects: objects.map(({ key }) => ({ key })),
    expiresInSeconds: isLong ? CUSTOMER_IMAGE_LINK_SECONDS : LINK_SECONDS,
    place,
  };
  return storage.urlSigner.signGets(question).catch(() => objects.map(() => null));
}

/** Each attempt ends when no data flows; together they may take the rest of the job's time. */
const limitTransfer = ({ remainingMs }: JobContext): number =>
  Math.max(1, Math.min(Math.floor(remainingMs()) - FINAL_CALL_TIMEOUT_MS, MAX_TIMER_MS));

/**
 * Retries until the job's deadline while Redis, the front or the store is unavailable: accepted jobs are not lost (decision 0014). If
 * `isHurried`, the front or the store may be unavailable for a minute.
 */
function retryTransient<T>(job: JobContext, call: () => Promise<T>, isHurried: () => boolean): Promise<T> {
  const { signal, remainingMs, delayMs = RETRY_DELAY_MS, now: readClock = () => performance.now() } = job;
  let failingSince: number | undefined;
  let startedAt = 0;
  const attempt = () => {
    startedAt = readClock();
    return call();
  };
  const isTransient = (error: unknown): boolean => {
    signal.throwIfAborted();
    const now = readClock();
    failingSince ??= now;
    const mayPass =
      isRedisAway(error) ||
      (isStoreAway(error) && (now - failingSince < STORE_RETRY_TIMEOUT_MS || !isHurried())) ||
      (isUnsigned(error) && now - failingSince < SIGNING_RETRY_TIMEOUT_MS) ||
      (isStale(error) && now - startedAt >= FRESH_LINK_MS);
    return mayPass && remainingMs() > delayMs + FINAL_CALL_TIMEOUT_MS;
  };
  return retry(attempt, { backoff: { baseMs: delayMs, maxMs: delayMs }, isTransient, signal });
}

/** The store, or the front that signs for it. */
export const isStoreAway = (error: unknown): boolean =>
  (error instanceof ApiError && error.code === 'temporarily_unavailable') ||
  (error instanceof UploadError && error.isTransient) ||
  (error instanceof DownloadError && !error.isGone);

/** For as long as uploads are retried with one link. */
const isRefused = (error: unknown): error is UploadError =>
  error instanceof UploadError && error.isTransient && error.reason === 'unreachable';

const isStale = (error: unknown): boolean => error instanceof UploadError && error.reason !== 'unreachable';

const isUnsigned = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'storage_upload_failed';
