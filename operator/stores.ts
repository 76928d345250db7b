/** Keeps the indexes up to what the watches show, and tells who is affected by somebody else's change. */
import { objectKey } from '../kube/object.ts';
import type { CredentialIndex } from './credential/credential-store.ts';
import type { ClusterView } from './framework/cluster-view.ts';
import type { RawObject } from './framework/parsing.ts';
import type { KeyIndex } from './key/key-store.ts';
import type { ModelIndex } from './model/model-store.ts';
import type { Target } from './publish/targets.ts';
import type { EndpointIndex } from './webhook/endpoint-store.ts';

export interface IndexListeners {
  onModelAffected: (key: string) => void;
  onKeyAffected: (key: string) => void;
  onCredentialAffected: (key: string) => void;
  onEndpointAffected: (key: string) => void;
  mark: (target: Target) => void;
}

export interface Indexes {
  models: ModelIndex;
  keys: KeyIndex;
  credentials: CredentialIndex;
  endpoints: EndpointIndex;
}

/** Call before any controller listens, so that a reconcile finds the indexes as new as the caches. */
export function keepIndexes(
  view: ClusterView,
  { models, keys, credentials, endpoints }: Indexes,
  listeners: IndexListeners,
): void {
  view.models.onChange((old, current) => {
    const key = objectKey((current ?? old)!);
    const affected = current ? models.put(key, current as unknown as RawObject) : models.remove(key);
    for (const other of affected) listeners.onModelAffected(other);
  });
  view.keys.onChange((old, current) => {
    const object = (current ?? old)!;
    const key = objectKey(object);
    const affected = current ? keys.put(key, current as unknown as RawObject) : keys.remove(key);
    for (const other of affected) listeners.onKeyAffected(other);
    listeners.mark({ what: 'apikeys', namespace: object.metadata.namespace! });
  });
  view.credentials.onChange((old, current) => {
    const object = (current ?? old)!;
    const key = objectKey(object);
    const affected = current
      ? credentials.put(key, current as unknown as RawObject)
      : credentials.remove(key);
    for (const other of affected) listeners.onCredentialAffected(other);
    if (!current) listeners.mark({ what: 'credentials', namespace: object.metadata.namespace! });
  });
  view.endpoints.onChange((old, current) => {
    const object = (current ?? old)!;
    const key = objectKey(object);
    const affected = current ? endpoints.put(key, current as unknown as RawObject) : endpoints.remove(key);
    for (const other of affected) listeners.onEndpointAffected(other);
    if (!current) listeners.mark({ what: 'endpoints', namespace: object.metadata.namespace! });
  });
}
