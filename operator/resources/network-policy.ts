/** Opens only the gateway's ports and the metrics port to others: the admin port is for the kubelet. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames, PORTS, podSelector } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { ServedAdapter } from './adapters.ts';
import { childMetadata } from './metadata.ts';

export function buildNetworkPolicy(
  model: ModelDeployment,
  adapters: readonly Pick<ServedAdapter, 'port'>[] = [],
): KubeObject {
  const { name } = model.metadata;
  const ports = [PORTS.http, PORTS.metrics, ...adapters.map(({ port }) => port)];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: childMetadata(model, childNames(name).networkPolicy),
    spec: {
      podSelector: { matchLabels: podSelector(name) },
      policyTypes: ['Ingress'],
      ingress: [{ ports: ports.map((port) => ({ port, protocol: 'TCP' })) }],
    },
  };
}
