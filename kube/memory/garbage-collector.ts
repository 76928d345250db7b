/** Deletes the children of deleted objects, and the content of deleted namespaces. */
import type { MemoryApi } from './memory-api.ts';
import type { ObjectChange } from './object-store.ts';

/** Until the returned function is called. */
export function startGarbageCollector(api: MemoryApi): () => void {
  return api.store.listen((change) => {
    // After all other listeners.
    if (change.type === 'DELETED') setImmediate(() => collect(api, change));
  });
}

function collect(api: MemoryApi, { key, object: owner }: ObjectChange): void {
  const { uid, name } = owner.metadata;
  for (const { key: childKey, object } of [...api.store.all()]) {
    const { ownerReferences = [], namespace, deletionTimestamp } = object.metadata;
    const isOrphan = ownerReferences.some((reference) => reference.uid === uid);
    const isLeft = key === 'namespaces' && namespace === name;
    if ((!isOrphan && !isLeft) || deletionTimestamp) continue;
    // Another owner keeps it.
    if (isOrphan && ownerReferences.some((reference) => reference.uid !== uid && isThere(api, reference.uid)))
      continue;
    api.delete(childKey, { namespace, name: object.metadata.name }, { uid: object.metadata.uid });
  }
}

function isThere({ store }: MemoryApi, uid: string): boolean {
  for (const { object } of store.all()) if (object.metadata.uid === uid) return true;
  return false;
}
