/** Reads stored files of batches, whole or a part. */
import type { IncomingMessage } from 'node:http';
import type { StoredObject } from '../../api/request.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { StorageServices } from '../jobs/services.ts';

const LINK_SECONDS = 300;

export interface StoredPlace {
  namespace: string;
  object: StoredObject;
  /** Offsets, `end` exclusive; absent: the whole. */
  range?: { start: number; end: number };
  signal: AbortSignal;
}

/** Throws ApiError, an error of the network, or the signal's reason. */
export async function openObject(
  { urlSigner, downloader }: Pick<StorageServices, 'urlSigner' | 'downloader'>,
  { namespace, object, range, signal }: StoredPlace,
): Promise<IncomingMessage> {
  const [url] = await urlSigner.signGets({
    namespace,
    credential: object.credential,
    objects: [{ key: object.key }],
    expiresInSeconds: LINK_SECONDS,
    isInternal: true,
  });
  const headers = range ? { range: `bytes=${range.start}-${range.end - 1}` } : {};
  const answer = await downloader.open(url!, { isTenantHost: object.credential !== null, headers, signal });
  if (answer.statusCode === (range ? 206 : 200)) return answer;
  answer.destroy();
  if (answer.statusCode === 404 || answer.statusCode === 403)
    throw new ApiError('result_expired', 'The file no longer exists in its store.');
  throw refuseAsUnavailable('storageService', `The store of the file answered ${answer.statusCode}.`);
}
