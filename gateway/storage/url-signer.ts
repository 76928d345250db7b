/** Signed URLs of stores for gateways without their keys: the front signs them itself, a sidecar asks the front. */
import type { ResultLinks } from '../../api/model-storage.ts';
import type { SignedPut } from './object-store.ts';

/** One store of a workspace. */
export interface StoreName {
  namespace: string;
  /** Name of a StorageCredential; null = the managed bucket. */
  credential: string | null;
}

export interface PutUrlsRequest extends StoreName {
  /** Below `inputs/<namespace>/` or `results/<namespace>/` (object-keys.ts); at most 100. */
  objects: readonly { key: string; contentType: string; contentLength: number }[];
}

export interface SignedPuts {
  bucket: string;
  /** `storage_provider` of a request. */
  provider: string | null;
  /** In request order. `key` is the full one, with the store's prefix, as used in records and cleanup. */
  puts: { key: string; grant: SignedPut }[];
}

/** Whose endpoint links to results may lead to, in place of the store. */
export interface LinkPlace {
  /** A deployment of the same namespace. */
  deployment: string;
  /** At which its client reaches it, such as `https://chat.example.com`. */
  origin: string;
  /** `spec.storage.links`; absent: the endpoint where managed storage is not public. */
  links?: ResultLinks | undefined;
}

export interface GetUrlsRequest extends StoreName {
  /** Full ones, as in SignedPuts. */
  objects: readonly { key: string; fileName?: string }[];
  expiresInSeconds: number;
  /** For a gateway's own reads, with the endpoint that it reaches. */
  isInternal?: boolean;
  /** For clients; absent: the store's own links. */
  place?: LinkPlace | undefined;
}

/**
 * Throws ApiError: `storage_credential_not_found` for a credential that is gone, `temporarily_unavailable` where
 * there is no managed bucket or the service does not respond.
 */
export interface UrlSigner {
  signPuts(question: PutUrlsRequest): Promise<SignedPuts>;
  /** Links in request order. */
  signGets(question: GetUrlsRequest): Promise<string[]>;
}
