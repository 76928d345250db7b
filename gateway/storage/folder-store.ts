/** The embedded default: a folder, with links that a FolderServer of the same folder and secret serves. */
import type { ObjectFolder } from './object-folder.ts';
import { isPlainKey } from './object-keys.ts';
import {
  type GetGrant,
  MAX_LINK_SECONDS,
  type ObjectStore,
  type PutGrant,
  type SignedPut,
} from './object-store.ts';
import { type LinkClaims, signLink } from './signed-links.ts';

export interface FolderStoreOptions {
  objects: ObjectFolder;
  /** Name of the folder in links and records. */
  bucket: string;
  /** Origin of the links' server, such as `http://127.0.0.1:1234`. */
  origin: string;
  /** Signs links. */
  secret: Buffer;
}

export class FolderStore implements ObjectStore {
  readonly bucket: string;
  readonly provider = null;
  readonly isPublic = false;
  readonly #options: FolderStoreOptions;

  constructor(options: FolderStoreOptions) {
    this.bucket = options.bucket;
    this.#options = options;
  }

  async signPut({ key, contentType, contentLength, expiresInSeconds }: PutGrant): Promise<SignedPut> {
    return {
      url: this.#sign({ method: 'PUT', key, contentType, contentLength }, expiresInSeconds),
      headers: { 'content-type': contentType, 'content-length': String(contentLength) },
      isTenantHost: false,
    };
  }

  async signGet({ key, expiresInSeconds, contentType, fileName }: GetGrant): Promise<string> {
    return this.#sign({ method: 'GET', key, contentType, fileName }, expiresInSeconds);
  }

  delete(key: string): Promise<void> {
    return this.#options.objects.delete(key);
  }

  close(): void {}

  #sign(claims: Omit<LinkClaims, 'bucket' | 'expires'>, expiresInSeconds: number): string {
    if (!isPlainKey(claims.key)) throw new RangeError(`"${claims.key}" is not a valid object key`);
    if (expiresInSeconds > MAX_LINK_SECONDS) throw new RangeError('a link is valid for at most 7 days');
    const { bucket, origin, secret } = this.#options;
    const expires = Math.floor(Date.now() / 1_000) + expiresInSeconds;
    return signLink(origin, { ...claims, bucket, expires }, secret);
  }
}
