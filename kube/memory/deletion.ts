/** Deletes an object, or marks it for its finalizers and grace period. */
import type { KubeObject } from '../object.ts';
import { formatTime } from '../time.ts';
import type { MemoryStore } from './object-store.ts';
import { type ResourceType, readAs, storeKey, typeKey } from './resource-type.ts';

export interface DeleteOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  graceSeconds?: number | undefined;
  propagation?: string | undefined;
  dryRun?: boolean;
}

const DEFAULT_GRACE_SECONDS = 30;

/** Returns the object if it is not gone yet. */
export function deleteObject(
  { store, now }: { store: MemoryStore; now: () => Date },
  type: ResourceType,
  live: KubeObject,
  options: DeleteOptions,
): KubeObject | undefined {
  if (options.propagation === 'Orphan') orphanChildren(store, live.metadata.uid!);
  const graceSeconds = decideGrace(type, live, options.graceSeconds);
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds } = live.metadata;
  const isShorter = deletionGracePeriodSeconds !== undefined && graceSeconds < deletionGracePeriodSeconds;
  if (deletionTimestamp && !isShorter && (finalizers.length > 0 || graceSeconds > 0))
    return readAs(type, live);
  const marked = {
    ...live,
    metadata: {
      ...live.metadata,
      deletionTimestamp: formatTime(new Date(now().getTime() + graceSeconds * 1_000)),
      deletionGracePeriodSeconds: graceSeconds,
    },
  };
  if (finalizers.length === 0 && graceSeconds === 0) {
    store.remove(storeKey(type), marked);
    return undefined;
  }
  return readAs(type, store.put(storeKey(type), marked));
}

/** Orphans its children, so that nothing deletes them. */
function orphanChildren(store: MemoryStore, uid: string): void {
  for (const { key, object } of [...store.all()]) {
    const { ownerReferences = [], ...metadata } = object.metadata;
    const others = ownerReferences.filter((reference) => reference.uid !== uid);
    if (others.length === ownerReferences.length) continue;
    const kept = others.length > 0 ? { ownerReferences: others } : {};
    store.put(key, { ...object, metadata: { ...metadata, ...kept } });
  }
}

/** Only pods running on a node have a grace period. */
function decideGrace(type: ResourceType, live: KubeObject, wanted: number | undefined): number {
  const { nodeName, terminationGracePeriodSeconds } = (live.spec ?? {}) as {
    nodeName?: string;
    terminationGracePeriodSeconds?: number;
  };
  if (typeKey(type) !== 'pods' || !nodeName) return 0;
  return wanted ?? terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}
