/** Uploads files from the spool to a store: gets signed URLs, registers the objects for cleanup, then uploads. */
import type { StoredObject } from '../../api/request.ts';
import type { RedisClient } from '../../redis/client.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import type { SignedPut } from './object-store.ts';
import type { Uploader } from './upload.ts';
import type { StoreName, UrlSigner } from './url-signer.ts';

export interface UploadServices {
  urlSigner: UrlSigner;
  uploader: Pick<Uploader, 'upload'>;
  redis: RedisClient;
}

export interface FileToStore {
  file: { path: string; bytes: number };
  /** As `inputKey` or `resultKey` make it. */
  key: string;
  contentType: string;
}

export interface FilesToStore extends StoreName {
  files: readonly FileToStore[];
  /** From now, unless a request takes the objects over or `unregisterObjects` lets them stay. */
  removeInMs: number;
  /** Of all uploads together. */
  deadlineMs: number;
  /** How long a failing store is retried; a minute. */
  retryTimeoutMs?: number;
  signal?: AbortSignal;
}

export interface StoredFiles {
  bucket: string;
  /** `storage_provider` of a request. */
  provider: string | null;
  /** In the order of the files. */
  objects: StoredObject[];
}

const MAX_CONCURRENT_UPLOADS = 4;

/**
 * Uploads all files, or throws: ApiError of the URL signer, UploadError, an error of Redis, or the signal's reason. Whatever
 * was uploaded by then is removed when its time comes.
 */
export async function storeFiles(
  services: UploadServices,
  { namespace, credential, files, removeInMs, deadlineMs, retryTimeoutMs, signal }: FilesToStore,
): Promise<StoredFiles> {
  const permission = await services.urlSigner.signPuts({
    namespace,
    credential,
    objects: files.map(({ file, key, contentType }) => ({ key, contentType, contentLength: file.bytes })),
  });
  const objects = permission.puts.map(({ key }) => ({ credential, key }));
  await registerObjects(services.redis, namespace, { objects, removeInMs });
  signal?.throwIfAborted();
  const grants = permission.puts.map(({ grant }) => grant);
  await uploadAll(services.uploader, files, { grants, deadlineMs, retryTimeoutMs, signal });
  return { bucket: permission.bucket, provider: permission.provider, objects };
}

/** The first failure ends the others. */
async function uploadAll(
  uploader: UploadServices['uploader'],
  files: readonly FileToStore[],
  {
    grants,
    deadlineMs,
    retryTimeoutMs,
    signal,
  }: { grants: SignedPut[]; deadlineMs: number; retryTimeoutMs?: number; signal?: AbortSignal },
): Promise<void> {
  const failed = new AbortController();
  const end = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const deadline = performance.now() + deadlineMs;
  let next = 0;
  const work = async () => {
    while (next < files.length) {
      const index = next++;
      const leftMs = Math.max(1, Math.round(deadline - performance.now()));
      await uploader.upload(files[index]!.file, grants[index]!, {
        deadlineMs: leftMs,
        retryTimeoutMs,
        signal: end,
      });
    }
  };
  const workers = Array.from({ length: Math.min(MAX_CONCURRENT_UPLOADS, files.length) }, () =>
    work().catch((error) => {
      failed.abort(error);
      throw error;
    }),
  );
  const outcomes = await Promise.allSettled(workers);
  signal?.throwIfAborted();
  if (failed.signal.aborted && outcomes.some(({ status }) => status === 'rejected'))
    throw failed.signal.reason;
}
