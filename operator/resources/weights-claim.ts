/** The claim that keeps downloads between pods, where the spec asks for one of its own. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { childMetadata } from './metadata.ts';

export function buildWeightsClaim(model: ModelDeployment): KubeObject | undefined {
  const cache = model.spec.model.source.huggingFace?.cache;
  if (!cache?.size) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: childMetadata(model, childNames(model.metadata.name).cacheClaim),
    spec: {
      accessModes: [cache.accessMode],
      ...(cache.storageClassName ? { storageClassName: cache.storageClassName } : {}),
      resources: { requests: { storage: cache.size } },
    },
  };
}
