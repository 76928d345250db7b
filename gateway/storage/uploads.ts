/**
 * Uploads files from the spool to a store: gets signed URLs, since a sidecar holds no keys of a bucket, registers the objects
 * for cleanup, then uploads with retries.
 */
import type { StoredObject } from '../../api/request.ts';
import { sleep, systemClock } from '../../kit/clock.ts';
import { backoffDelay } from '../../kit/retry.ts';
import type { RedisClient } from '../../redis/client.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import type { EgressAgentOptions } from '../egress/agent.ts';
import { type LinkAnswer, type PutRequest, putFile } from './link-request.ts';
import type { SignedPut } from './object-store.ts';
import { classifyFailure, type StorageReason } from './storage-error.ts';
import { createGuardedAgents, createOwnAgents, type StoreAgents } from './store-agents.ts';
import { toUploadReason, UploadError } from './upload-error.ts';
import type { StoreName, UrlSigner } from './url-signer.ts';

export interface UploadServices {
  urlSigner: UrlSigner;
  uploader: Pick<Uploader, 'upload'>;
  redis: RedisClient;
}

export interface FileToStore {
  file: { path: string; bytes: number };
  /** From `inputKey` or `resultKey`. */
  key: string;
  contentType: string;
}

export interface FilesToStore extends StoreName {
  files: readonly FileToStore[];
  /** From now, unless a request takes ownership or `unregisterObjects` keeps the objects. */
  removeInMs: number;
  /** Deadline of all uploads together. */
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
 * was uploaded by then is removed when it expires.
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

/** The first failure aborts the others. */
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

export interface UploaderOptions {
  /** For hosts that tenants chose. */
  egress: EgressAgentOptions;
  /** Certificates (PEM) to trust for the administrator's own store, instead of the system's. */
  ca?: string;
  /** The longest time without a byte. */
  idleMs?: number;
}

export interface UploadOptions {
  /** Deadline of all attempts together. */
  deadlineMs: number;
  /** How long a failing store is retried; a minute. */
  retryTimeoutMs?: number;
  signal?: AbortSignal;
}

type Outcome =
  | { isDone: true }
  | { isDone: false; reason: StorageReason; mayRetry: boolean; cause?: unknown };

const IDLE_TIMEOUT_MS = 20_000;
const RETRY_TIMEOUT_MS = 60_000;
const BACKOFF = { baseMs: 250, maxMs: 5_000 };
const PASSING_STATUSES = new Set([408, 429, 500, 502, 503, 504]);
const PASSING_FAILURES = new Set<StorageReason>(['unreachable', 'slow']);

export class Uploader {
  readonly #own: StoreAgents;
  readonly #guarded: StoreAgents;
  readonly #idleMs: number;

  constructor({ egress, ca, idleMs = IDLE_TIMEOUT_MS }: UploaderOptions) {
    this.#own = createOwnAgents(ca);
    this.#guarded = createGuardedAgents(egress);
    this.#idleMs = idleMs;
  }

  /** Retries transient failures. Throws UploadError, or the reason of the caller's signal. */
  async upload(
    file: { path: string; bytes: number },
    grant: SignedPut,
    { deadlineMs, retryTimeoutMs = RETRY_TIMEOUT_MS, signal }: UploadOptions,
  ): Promise<void> {
    const late = AbortSignal.timeout(deadlineMs);
    const end = signal ? AbortSignal.any([late, signal]) : late;
    const agents = grant.isTenantHost ? this.#guarded : this.#own;
    const idleMs = Math.min(this.#idleMs, retryTimeoutMs);
    let failingSince: number | undefined;
    let earlier: UploadError | undefined;
    for (let attempt = 1; ; attempt++) {
      const outcome = await tryOnce({ grant, file, agents, idleMs, signal: end });
      if (outcome.isDone) return;
      signal?.throwIfAborted();
      const failure = new UploadError(toUploadReason(outcome.reason), outcome.cause, {
        isTransient: outcome.mayRetry,
      });
      // An attempt that the deadline aborted is less informative than one that the store ended.
      if (late.aborted) throw earlier ?? failure;
      if (!outcome.mayRetry) throw failure;
      earlier = failure;
      // No data has moved since the start of an attempt that timed out.
      failingSince ??= performance.now() - (outcome.reason === 'slow' ? idleMs : 0);
      if (performance.now() - failingSince >= retryTimeoutMs) throw failure;
      await sleep(systemClock, backoffDelay(BACKOFF, attempt), end);
      signal?.throwIfAborted();
      if (late.aborted) throw failure;
    }
  }

  /** Closes idle connections. */
  close(): void {
    this.#own.close();
    this.#guarded.close();
  }
}

async function tryOnce(request: PutRequest): Promise<Outcome> {
  let answer: LinkAnswer;
  try {
    answer = await putFile(request);
  } catch (cause) {
    const reason = classifyFailure(cause);
    return { isDone: false, reason, mayRetry: PASSING_FAILURES.has(reason), cause };
  }
  const { status, reason } = answer;
  return reason === null
    ? { isDone: true }
    : { isDone: false, reason, mayRetry: PASSING_STATUSES.has(status) };
}
