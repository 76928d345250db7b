/** All StorageCredentials as last seen, with the id that each claims, and their entries to publish. */
import { deriveId } from '../../api/identity.ts';
import type { Condition } from '../../api/kubernetes-types.ts';
import type { PublishedCredential } from '../../api/redis-keys.ts';
import { type StorageCredential, storageCredential } from '../../api/storage-credential.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toMillis } from '../../kube/time.ts';
import { ClaimIndex } from '../framework/claim-index.ts';
import { EntryStore, type Parsed, type RawObject } from '../framework/parsed-store.ts';
import { findCondition } from '../status/condition-list.ts';

/** Entries are determined by reconciling, since the keys are in a Secret. */
export class CredentialStore extends EntryStore<StorageCredential, PublishedCredential> {
  readonly #ids = new ClaimIndex();

  constructor() {
    super(storageCredential);
  }

  protected onPut(key: string, { metadata }: RawObject, parsed: Parsed<StorageCredential>): string[] {
    const isClaimed = parsed.ok && !this.isLeaving(key);
    const id = isClaimed ? `${metadata.namespace}/${credentialIdOf(parsed.value)}` : undefined;
    return this.#ids.claim(id, { key, since: toMillis(metadata.creationTimestamp) });
  }

  protected override onRemove(key: string): string[] {
    return [...super.onRemove(key), ...this.#ids.release(key)];
  }

  /** The key of the credential that has the id. */
  owner(namespace: string, id: number): string | undefined {
    return this.#ids.owner(`${namespace}/${id}`);
  }
}

export const credentialIdOf = ({ metadata, spec }: StorageCredential): number =>
  spec.id ?? deriveId('StorageCredential', metadata.namespace, metadata.name);

/** How many are in each state of their condition Verified. */
export function countVerified(objects: readonly KubeObject[]): { verified: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { status } of objects) {
    const { conditions = [] } = (status ?? {}) as { conditions?: Condition[] };
    const verified = findCondition(conditions, 'Verified')?.status ?? 'Unknown';
    counts.set(verified, (counts.get(verified) ?? 0) + 1);
  }
  return [...counts].map(([verified, count]) => ({ verified, count }));
}
