/** What Berth needs of a store of objects, whether a bucket behind S3 or a folder. Only the front holds one. */
import type { Readable } from 'node:stream';

export interface PutGrant {
  key: string;
  contentType: string;
  /** Bytes; the link takes exactly so many. */
  contentLength: number;
  expiresInSeconds: number;
}

/** What a sidecar, which holds no keys, needs to write one object. */
export interface SignedPut {
  url: string;
  /** To be sent as they are: they are signed. */
  headers: Record<string, string>;
  /** A tenant chose the host: only egress rules may let it through. */
  isTenantHost: boolean;
}

export interface GetGrant {
  key: string;
  expiresInSeconds: number;
  /** Instead of the one that the object was put with. */
  contentType?: string;
  /** A browser then saves the object under this name. */
  fileName?: string;
  /** For a sidecar: the endpoint by which it reaches the store, where clients have another. */
  isInternal?: boolean;
}

export interface ObjectFacts {
  contentType: string;
  /** Bytes. */
  contentLength: number;
}

export interface StoredObject extends ObjectFacts {
  body: Readable;
}

/** All but the signing throw StorageError; for keys that lead elsewhere (object-keys.ts) a RangeError is thrown. */
export interface ObjectStore {
  /** `output_bucket` of a request. */
  readonly bucket: string;
  /** `storage_provider` of a request; null = managed storage. */
  readonly provider: string | null;
  signPut(grant: PutGrant): Promise<SignedPut>;
  /** A link for clients, which works without any header. */
  signGet(grant: GetGrant): Promise<string>;
  /** For what the front itself has in memory, such as inputs. */
  put(key: string, body: Buffer, contentType: string): Promise<void>;
  /** null if there is no such object; the body is to be read to its end, or destroyed. */
  get(key: string): Promise<StoredObject | null>;
  /** null if there is no such object. */
  head(key: string): Promise<ObjectFacts | null>;
  /** Nothing happens if there is no such object. */
  delete(key: string): Promise<void>;
  /** Puts, gets and deletes a small object. */
  verify(): Promise<void>;
  /** Breaks idle connections off. */
  close(): void;
}

/** S3's own bound for presigned links. */
export const MAX_LINK_SECONDS = 7 * 24 * 3_600;

/** Of an attachment: quotes and what is not ASCII only in the encoded form (RFC 6266). */
export function formatDisposition(fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return plain === fileName
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
