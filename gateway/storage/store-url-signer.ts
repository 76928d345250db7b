/** Signs URLs with the stores that a front holds. */

import type { DeploymentName } from '../../api/names.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import { isPlainKey, ownsKey } from './object-keys.ts';
import { PUT_LINK_SECONDS } from './object-store.ts';
import { signResultLink } from './result-links.ts';
import { StorageError } from './storage-error.ts';
import type { OpenStore, Stores } from './stores.ts';
import type { GetUrlsRequest, PutUrlsRequest, SignedPuts, StoreName, UrlSigner } from './url-signer.ts';

/** Signs only keys of the workspace itself, since tenants can write records. */
export class StoreUrlSigner implements UrlSigner {
  readonly #stores: Pick<Stores, 'find'>;
  readonly #secretOf: ((deployment: DeploymentName) => Buffer) | null;

  /** `secretOf`: of a deployment's own links; without it all links are the stores'. */
  constructor(
    stores: Pick<Stores, 'find'>,
    secretOf: ((deployment: DeploymentName) => Buffer) | null = null,
  ) {
    this.#stores = stores;
    this.#secretOf = secretOf;
  }

  async signPuts(question: PutUrlsRequest): Promise<SignedPuts> {
    const { namespace, objects } = question;
    for (const { key } of objects)
      if (!isPlainKey(key) || !/^(inputs|results)\//.test(key)) throw refuseKey();
    requireOwn(namespace, objects);
    const { store, prefix } = await this.#find(question);
    const puts = objects.map(async ({ key, contentType, contentLength }) => {
      const whole = prefix + key;
      const grant = { key: whole, contentType, contentLength, expiresInSeconds: PUT_LINK_SECONDS };
      return { key: whole, grant: await store.signPut(grant) };
    });
    return { bucket: store.bucket, provider: store.provider, puts: await Promise.all(puts) };
  }

  async signGets(question: GetUrlsRequest): Promise<string[]> {
    const { namespace, objects, expiresInSeconds, isInternal } = question;
    requireOwn(namespace, objects);
    const { store } = await this.#find(question);
    const { place, credential } = question;
    // Results in a customer's bucket have links signed against it, unless the deployment asks for others.
    const isStores = credential !== null || store.isPublic;
    if (place && this.#secretOf && (place.links ?? (isStores ? 'Store' : 'Own')) === 'Own') {
      const secret = this.#secretOf({ namespace, name: place.deployment });
      return objects.map((object) => signResultLink({ ...question, ...place, ...object }, secret));
    }
    return Promise.all(
      objects.map(({ key, fileName }) => store.signGet({ key, fileName, expiresInSeconds, isInternal })),
    );
  }

  async #find(name: StoreName): Promise<OpenStore> {
    const found = await this.#stores.find(name).catch((error) => explain(error, name));
    if (found) return found;
    if (name.credential === null)
      throw refuseAsUnavailable(
        'noStorage',
        'This installation has no managed storage: its administrator must configure a bucket, or the request specify a storage credential.',
      );
    throw new ApiError('storage_credential_not_found', 'The storage credential no longer exists.');
  }
}

function requireOwn(namespace: string, objects: readonly { key: string }[]): void {
  if (!objects.every(({ key }) => ownsKey(namespace, key))) throw refuseKey();
}

const refuseKey = () => new ApiError('permission_denied', 'The object does not belong to this workspace.');

function explain(error: unknown, { credential }: StoreName): never {
  if (error instanceof StorageError)
    throw new ApiError(
      'storage_credential_not_verified',
      `The bucket of storage credential ${credential} ${error.message}.`,
    );
  throw error;
}
