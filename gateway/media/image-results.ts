/** Stores finished images (docs/api.md, "Results"). */
import { randomBytes } from 'node:crypto';
import { generateRequestId } from '../../api/request.ts';
import { unregisterObjects } from '../../redis/requests/object-cleanup.ts';
import type { GeneratedImage } from '../engine/image-call.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { explainRedisOutage } from '../http/unavailability.ts';
import type { MediaServices } from '../jobs/services.ts';
import { resultKey } from '../storage/object-keys.ts';
import type { SpooledFile } from '../storage/spool.ts';
import { UploadError } from '../storage/upload-error.ts';
import { storeFiles } from '../storage/uploads.ts';
import type { LinkPlace } from '../storage/url-signer.ts';

export interface ImageDestination {
  namespace: string;
  /** Name of the StorageCredential; null = managed. */
  credential: string | null;
  /** For the whole request, from its start. */
  budgetMs: number;
  /** Where links may lead. */
  place: LinkPlace | undefined;
}

const HOUR_S = 3_600;
const LINK_SECONDS = { managed: HOUR_S, customer: 7 * 24 * HOUR_S };
/** Managed objects slightly outlive their links. */
const REMOVE_AFTER_MS = (HOUR_S + 600) * 1_000;
/** Minimum, however late the engine was: finished work is not discarded for a second. */
const MIN_UPLOAD_TIMEOUT_MS = 10_000;
/** How long uploads are retried while a client waits. */
const RETRY_TIMEOUT_MS = 5_000;

/** Links to the images, in their order, once all of them are stored. Throws ApiError, or ClientDisconnectedError. */
export async function storeImages(
  images: readonly GeneratedImage[],
  exchange: Exchange,
  { destination, services }: { destination: ImageDestination; services: MediaServices },
): Promise<string[]> {
  const files: SpooledFile[] = [];
  try {
    for (const { bytes } of images)
      files.push(await services.storage.spool.hold(once(bytes), { maxBytes: bytes.length }));
    return await storeAndSign(images, files, { exchange, destination, services });
  } catch (error) {
    exchange.check();
    const known = toApiError(error);
    // A retry would repeat all of the engine's work.
    throw known instanceof ApiError ? known.withoutRetry() : known;
  } finally {
    await Promise.all(files.map((file) => file.remove()));
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function storeAndSign(
  images: readonly GeneratedImage[],
  files: readonly SpooledFile[],
  {
    exchange,
    destination: { namespace, credential, budgetMs, place },
    services: { storage, redis },
  }: { exchange: Exchange; destination: ImageDestination; services: MediaServices },
): Promise<string[]> {
  const keys = {
    workspace: namespace,
    request: generateRequestId(storage.requestPrefix(namespace)),
    token: randomBytes(16).toString('hex'),
  };
  const { objects } = await storeFiles(
    { ...storage, redis },
    {
      namespace,
      credential,
      files: images.map(({ contentType }, index) => ({
        file: files[index]!,
        key: resultKey(keys, index, contentType.slice('image/'.length)),
        contentType,
      })),
      removeInMs: REMOVE_AFTER_MS,
      deadlineMs: Math.max(MIN_UPLOAD_TIMEOUT_MS, Math.round(budgetMs - exchange.elapsed())),
      retryTimeoutMs: RETRY_TIMEOUT_MS,
      signal: exchange.signal,
    },
  );
  const links = await storage.urlSigner.signGets({
    namespace,
    credential,
    objects: objects.map(({ key }) => ({ key })),
    expiresInSeconds: credential === null ? LINK_SECONDS.managed : LINK_SECONDS.customer,
    place,
  });
  // Registered only in case something failed up to here: in a customer's bucket they stay.
  if (credential !== null) await unregisterObjects(redis, namespace, objects);
  return links;
}

function toApiError(error: unknown): unknown {
  if (error instanceof UploadError) return new ApiError(error.code, error.message);
  return explainRedisOutage(error);
}
