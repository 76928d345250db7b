/** Interface to an object store, either an S3 bucket or a folder. Only the front holds one. */
export interface PutGrant {
  key: string;
  contentType: string;
  /** Bytes; the link accepts exactly so many. */
  contentLength: number;
  expiresInSeconds: number;
}

/** All that a sidecar, which holds no keys, needs to write one object. */
export interface SignedPut {
  url: string;
  /** Signed, so to be sent unchanged. */
  headers: Record<string, string>;
  /** A tenant chose the host: egress rules apply. */
  isTenantHost: boolean;
}

export interface GetGrant {
  key: string;
  expiresInSeconds: number;
  /** Overrides the object's stored content type. */
  contentType?: string;
  /** Browsers save the object under this name. */
  fileName?: string;
  /** For a sidecar: its endpoint of the store, if clients use another. */
  isInternal?: boolean;
}

/** Deleting throws StorageError; keys that leave the bucket (object-keys.ts) throw a RangeError. */
export interface ObjectStore {
  /** `output_bucket` of a request. */
  readonly bucket: string;
  /** `storage_provider` of a request; null = managed storage. */
  readonly provider: string | null;
  /** Whether clients anywhere may follow its links (public-host.ts). */
  readonly isPublic: boolean;
  signPut(grant: PutGrant): Promise<SignedPut>;
  /** A link for clients that needs no headers. */
  signGet(grant: GetGrant): Promise<string>;
  /** Does nothing if there is no such object. */
  delete(key: string): Promise<void>;
  /** Closes idle connections. */
  close(): void;
}

/** An upload starts within it. */
export const PUT_LINK_SECONDS = 900;
/** S3's limit for presigned links. */
export const MAX_LINK_SECONDS = 7 * 24 * 3_600;

/** For an attachment: quotes and non-ASCII characters only in the encoded form (RFC 6266). */
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
