/** A job's files on their way: inputs from storage to disk, results from disk to storage. */
import { setTimeout as wait } from 'node:timers/promises';
import type { StoredObject } from '../../contract/request.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import type { Claim } from '../../redis/request-calls.ts';
import { ApiError } from '../error-response.ts';
import type { StorageServices } from '../media/services.ts';
import { DownloadError, holdObject } from '../storage/download.ts';
import { resultKey } from '../storage/object-keys.ts';
import type { SpooledFile } from '../storage/spool.ts';
import { type StoredFiles, storeFiles } from '../storage/uploads.ts';
import type { ResultFile } from './engine-run.ts';

export interface JobStorage {
  redis: RedisClient;
  storage: StorageServices;
  claim: Claim;
  /** Until the job's deadline. */
  remainingMs: () => number;
  signal: AbortSignal;
}

const PAUSE_MS = 1_000;
/** So long may storage, or the front before it, be away. */
const PATIENCE_MS = 60_000;
const PASSING = new Set(['temporarily_unavailable', 'storage_upload_failed']);
const LONGEST_TRANSFER_MS = 10 * 60_000;
/** Results that no record takes over are removed so long after the deadline. */
const ORPHANED_MS = 3_600_000;
const LINK_SECONDS = 3_600;
const CUSTOMER_IMAGE_LINK_SECONDS = 7 * 24 * 3_600;

/** Reads an input onto disk. Throws DownloadError, UploadError, ApiError or the signal's reason. */
export const fetchObject = (job: JobStorage, object: StoredObject, mostBytes: number): Promise<SpooledFile> =>
  persist(job, () =>
    holdObject(job.storage, {
      namespace: job.claim.namespace,
      object,
      mostBytes,
      deadlineMs: limitTransfer(job),
      signal: job.signal,
    }),
  );

/** Uploads all files under the claim's own keys. Throws UploadError, ApiError or the signal's reason. */
export const storeResults = (
  job: JobStorage,
  credential: string | null,
  files: readonly ResultFile[],
): Promise<StoredFiles> => {
  const { namespace: workspace, id: request, token } = job.claim;
  const place = { workspace, request, token };
  return persist(job, () =>
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
        signal: job.signal,
      },
    ),
  );
};

/** Links to the results; null for each where nobody can sign now. */
export async function signResults(
  { storage, claim }: JobStorage,
  { objects }: StoredFiles,
  kind: 'image' | 'video',
): Promise<(string | null)[]> {
  const credential = objects[0]?.credential ?? null;
  const isLong = credential !== null && kind === 'image';
  const question = {
    namespace: claim.namespace,
    credential,
    objects: objects.map(({ key }) => ({ key })),
    expiresInSeconds: isLong ? CUSTOMER_IMAGE_LINK_SECONDS : LINK_SECONDS,
  };
  return storage.broker.signGets(question).catch(() => objects.map(() => null));
}

const limitTransfer = ({ remainingMs }: JobStorage): number =>
  Math.max(1, Math.min(remainingMs(), LONGEST_TRANSFER_MS));

/** Tries again while Redis, the front or the store is away for a moment. */
async function persist<T>(job: JobStorage, call: () => Promise<T>): Promise<T> {
  const patience = performance.now() + PATIENCE_MS;
  for (;;) {
    job.signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      job.signal.throwIfAborted();
      const mayPass = isRedisAway(error) || (isPassing(error) && performance.now() < patience);
      if (!mayPass || job.remainingMs() <= PAUSE_MS) throw error;
      await wait(PAUSE_MS, undefined, { signal: job.signal }).catch(() => job.signal.throwIfAborted());
    }
  }
}

const isPassing = (error: unknown): boolean =>
  (error instanceof ApiError && PASSING.has(error.code)) || (error instanceof DownloadError && !error.isGone);
