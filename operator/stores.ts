/** Keeps the stores in sync with the watches, and enqueues objects that are affected by another's change. */
import { type KubeObject, objectKey } from '../kube/object.ts';
import type { Watcher } from '../kube/watcher.ts';
import type { CredentialStore } from './credential/credential-store.ts';
import type { ClusterView } from './framework/cluster-view.ts';
import type { ParsedStore } from './framework/parsed-store.ts';
import type { RawObject } from './framework/parsing.ts';
import type { KeyStore } from './key/key-store.ts';
import type { ModelStore } from './model/model-store.ts';
import type { Target } from './publish/targets.ts';
import type { EndpointStore } from './webhook/endpoint-store.ts';

export interface Stores {
  models: ModelStore;
  keys: KeyStore;
  credentials: CredentialStore;
  endpoints: EndpointStore;
}

export interface StoreListeners {
  enqueue: (kind: keyof Stores, key: string) => void;
  mark: (target: Target) => void;
}

/** Call before any controller listens, so that a reconcile finds the stores as new as the caches. */
export function keepStores(view: ClusterView, stores: Stores, { enqueue, mark }: StoreListeners): void {
  for (const kind of Object.keys(stores) as (keyof Stores)[])
    keepStore(view[kind], stores[kind], (key) => enqueue(kind, key));
  view.keys.onChange((old, current) => mark({ what: 'apikeys', namespace: namespaceOf(current ?? old!) }));
  // Entries of those that are there are marked when they were reconciled.
  for (const what of ['credentials', 'endpoints'] as const)
    view[what].onChange((old, current) => {
      if (!current) mark({ what, namespace: namespaceOf(old!) });
    });
}

function keepStore(
  watcher: Watcher<KubeObject>,
  store: ParsedStore<unknown>,
  onAffected: (key: string) => void,
): void {
  watcher.onChange((old, current) => {
    const key = objectKey((current ?? old)!);
    const affected = current ? store.put(key, current as unknown as RawObject) : store.remove(key);
    for (const other of affected) onAffected(other);
  });
}

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace!;
