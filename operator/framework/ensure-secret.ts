/** Secrets that the operator creates once and never updates: a deleted one is replaced by a new one. */

import { LABELS, MANAGED_BY } from '../../api/names.ts';
import { isAlreadyExists } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { controllerOf, controllerReference, type KubeObject } from '../../kube/object.ts';
import type { ObjectCache } from '../../kube/object-cache.ts';
import { RESOURCES } from '../../kube/resource.ts';

export interface GeneratedSecret {
  name: string;
  field: string;
  /** Creates the value if there is none. */
  make: () => string;
}

export type Ensured =
  /** `texts`: all of its fields. */
  | { outcome: 'found'; value: string; texts: Record<string, string>; resourceVersion: string | undefined }
  | { outcome: 'made'; value: string; texts: Record<string, string> }
  | { outcome: 'foreign' };

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

/** The object that owns the Secret; or a namespace, for any Secret with the operator's label. */
export type SecretOwner = KubeObject | { namespace: string };

/** Reads the Secret's value, or creates the Secret; `foreign` if someone else's has its name. */
export async function ensureSecret(
  client: Pick<KubeClient, 'find' | 'create' | 'mergePatch'>,
  owner: SecretOwner,
  { name, field, make }: GeneratedSecret,
  signal: AbortSignal,
): Promise<Ensured> {
  const at = { name, namespace: 'metadata' in owner ? owner.metadata.namespace! : owner.namespace };
  const live = await client.find<Secret>(RESOURCES.Secret, at, { signal });
  if (live && !isOurs(live, owner)) return { outcome: 'foreign' };
  const present = live?.data?.[field];
  if (present) {
    const { resourceVersion } = live.metadata;
    return { outcome: 'found', value: decode(present), texts: decodeData(live.data), resourceVersion };
  }
  const value = make();
  const data = { [field]: Buffer.from(value).toString('base64') };
  if (live) {
    const { resourceVersion } = live.metadata;
    await client.mergePatch(RESOURCES.Secret, { at, patch: { metadata: { resourceVersion }, data }, signal });
    return { outcome: 'made', value, texts: { ...decodeData(live.data), [field]: value } };
  }
  const metadata = {
    ...at,
    labels: { [LABELS.managedBy]: MANAGED_BY },
    ...('metadata' in owner && { ownerReferences: [controllerReference(owner)] }),
  };
  try {
    await client.create(
      RESOURCES.Secret,
      { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data },
      { signal },
    );
  } catch (error) {
    if (isAlreadyExists(error)) return { outcome: 'foreign' };
    throw error;
  }
  return { outcome: 'made', value, texts: { [field]: value } };
}

/** Values of Secrets by the version that the watch shows, so that one is reread only when it changes. */
export class ReadSecrets<T> {
  readonly #cache: Pick<ObjectCache, 'get'>;
  readonly #read = new Map<string, { resourceVersion: string; value: T }>();

  constructor(cache: Pick<ObjectCache, 'get'>) {
    this.#cache = cache;
  }

  get(key: string): T | undefined {
    const known = this.#read.get(key);
    if (!known) return undefined;
    if (this.#cache.get(key)?.metadata.resourceVersion === known.resourceVersion) return known.value;
    this.#read.delete(key);
    return undefined;
  }

  set(key: string, resourceVersion: string | undefined, value: T): void {
    if (resourceVersion !== undefined) this.#read.set(key, { resourceVersion, value });
  }

  delete(key: string): void {
    this.#read.delete(key);
  }
}

const decode = (encoded: string): string => Buffer.from(encoded, 'base64').toString('utf8');

/** The texts of a Secret's fields. */
export const decodeData = (data: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([field, encoded]) => [field, decode(encoded)]));

const isOurs = (secret: Secret, owner: SecretOwner): boolean =>
  'metadata' in owner
    ? controllerOf(secret)?.uid === owner.metadata.uid
    : secret.metadata.labels?.[LABELS.managedBy] === MANAGED_BY;
