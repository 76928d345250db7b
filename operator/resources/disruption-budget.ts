/** One pod at a time may be evicted; broken ones always may, or they would block node drains forever. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames, podSelector } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import { childMetadata } from './metadata.ts';

export function buildDisruptionBudget(model: ModelDeployment): KubeObject {
  const { name } = model.metadata;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: childMetadata(model, childNames(name).disruptionBudget),
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: podSelector(name) },
    },
  };
}
