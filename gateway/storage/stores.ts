/** The stores that a front holds open: the managed one, and those of recently used StorageCredentials. */
import { configKeys, type PublishedCredential } from '../../api/redis-keys.ts';
import { openStorageKeys } from '../../api/storage-keys.ts';
import type { EgressAgentOptions } from '../egress/agent.ts';
import { isBucketKey } from './object-keys.ts';
import type { ObjectStore } from './object-store.ts';
import { S3Store } from './s3-store.ts';
import { StorageError } from './storage-error.ts';
import type { StoreName } from './url-signer.ts';

/** Takes full keys: `prefix` is prepended to those of new objects, and is not part of the store itself. */
export interface OpenStore {
  store: ObjectStore;
  prefix: string;
}

export interface StoresOptions {
  managed: OpenStore | null;
  /** As currently published; null = there is none. */
  readCredential: (namespace: string, name: string) => Promise<PublishedCredential | null>;
  /** 32 bytes, by namespace. */
  dataKey: (namespace: string) => Buffer;
  egress: EgressAgentOptions;
  /** Customers' stores open at once; LRU eviction. */
  maxOpen?: number;
  /** From a request to its response's headers, per attempt (two). */
  answerTimeoutMs?: number;
}

/** `storage_provider` of all unmanaged stores. */
export const CUSTOMER_PROVIDER = 's3';

const MAX_OPEN_STORES = 200;

interface Entry extends OpenStore {
  /** The published credential that it was opened with. */
  text: string;
}

export class Stores {
  readonly #options: StoresOptions;
  readonly #open = new Map<string, Entry>();

  constructor(options: StoresOptions) {
    this.#options = options;
  }

  /** null if there is no such credential, or no managed store. Throws StorageError, or an error of Redis. */
  async find({ namespace, credential }: StoreName): Promise<OpenStore | null> {
    if (credential === null) return this.#options.managed;
    const published = await this.#options.readCredential(namespace, credential);
    const place = `${namespace}/${credential}`;
    const known = this.#open.get(place);
    const text = JSON.stringify(published);
    if (known?.text === text) {
      this.#open.delete(place);
      this.#open.set(place, known);
      return known;
    }
    this.#close(place);
    if (!published) return null;
    const entry = { ...this.openCredential(namespace, published), text };
    this.#open.set(place, entry);
    const [leastRecentlyUsed] = this.#open.keys();
    if (this.#open.size > (this.#options.maxOpen ?? MAX_OPEN_STORES)) this.#close(leastRecentlyUsed!);
    return entry;
  }

  /** A store owned by the caller, who must close it. Throws StorageError if the settings can never work. */
  openCredential(namespace: string, credential: PublishedCredential): OpenStore & { store: S3Store } {
    const { dataKey, egress, answerTimeoutMs } = this.#options;
    const { id, endpoint, region, bucket, prefix, pathStyle, sealed } = credential;
    const place = { redisKey: configKeys(namespace).credentials, credentialId: id };
    const keys = openStorageKeys(sealed, place, dataKey(namespace));
    if (!keys) throw new StorageError('keys');
    if (!isBucketKey(`${prefix}results`)) throw new StorageError('prefix');
    const store = new S3Store({
      endpoint,
      publicEndpoint: null,
      region,
      bucket,
      pathStyle,
      keys,
      provider: CUSTOMER_PROVIDER,
      egress,
      answerTimeoutMs,
    });
    return { store, prefix };
  }

  close(): void {
    for (const place of [...this.#open.keys()]) this.#close(place);
    this.#options.managed?.store.close();
  }

  #close(place: string): void {
    this.#open.get(place)?.store.close();
    this.#open.delete(place);
  }
}
