/** The scale subresource, by which `kubectl scale` and autoscalers set replicas. */

import { isObject } from '../../kit/json.ts';
import type { Fields, KubeObject } from '../object.ts';
import type { MemoryApi, WriteOptions } from './memory-api.ts';
import { badRequest, noSuchPath } from './status-error.ts';
import { readJSONPath } from './table.ts';

export function readScale(api: MemoryApi, key: string, object: KubeObject): KubeObject {
  const { scale } = api.type(key);
  if (!scale) throw noSuchPath();
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = scale.labelSelectorPath && readJSONPath(object, scale.labelSelectorPath);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as KubeObject['metadata'],
    spec: { replicas: readJSONPath(object, scale.specReplicasPath) ?? 0 },
    status: {
      replicas: readJSONPath(object, scale.statusReplicasPath) ?? 0,
      ...(selector ? { selector } : {}),
    },
  };
}

/** Throws StatusError 400, 409, 422. */
export function writeScale(
  api: MemoryApi,
  { key, object, scale }: { key: string; object: KubeObject; scale: unknown },
  options: WriteOptions,
): KubeObject {
  const paths = api.type(key).scale;
  if (!paths) throw noSuchPath();
  const replicas = readJSONPath(scale, '.spec.replicas');
  if (!Number.isInteger(replicas)) throw badRequest('spec.replicas must be a whole number');
  const { resourceVersion } = ((scale as Fields).metadata ?? {}) as { resourceVersion?: string };
  const wanted = structuredClone(object) as Fields;
  const names = paths.specReplicasPath.split('.').filter(Boolean);
  const last = names.pop()!;
  const parent = names.reduce<Fields>((inner, name) => {
    if (!isObject(inner[name])) inner[name] = {};
    return inner[name] as Fields;
  }, wanted);
  parent[last] = replicas;
  const metadata = {
    ...object.metadata,
    resourceVersion: resourceVersion ?? object.metadata.resourceVersion,
  };
  const { subresource: _, ...rest } = options;
  return readScale(api, key, api.update(key, { ...wanted, metadata } as unknown as KubeObject, rest));
}
