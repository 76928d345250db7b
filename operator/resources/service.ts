/** The Service of a deployment's pods; while none is ready the front's slice stands in. */
import type { ModelDeployment } from '../../contract/model-deployment.ts';
import { childNames, HTTP_PORT_NAME, PORTS, podSelector } from '../../contract/names.ts';
import type { KubeObject } from '../kube/object.ts';
import { childMetadata } from './metadata.ts';

/** Port of the Service, so that in-cluster URLs need none. */
export const SERVICE_PORT = 80;

export function buildService(model: ModelDeployment): KubeObject {
  const { name } = model.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: childMetadata(model, childNames(name).service),
    spec: {
      type: 'ClusterIP',
      selector: podSelector(name),
      publishNotReadyAddresses: false,
      // A number: not every version looks for a port's name among native sidecars.
      ports: [{ name: HTTP_PORT_NAME, port: SERVICE_PORT, targetPort: PORTS.http, protocol: 'TCP' }],
    },
  };
}
