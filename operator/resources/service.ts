/** The Service of a deployment's pods, and of the front while none of them is ready. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames, HTTP_PORT_NAME, PORTS, podSelector } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { ServedAdapter } from './adapters.ts';
import { childMetadata } from './metadata.ts';
import { decidePreset, presetServiceAnnotations } from './route-presets.ts';
import type { BuildSettings } from './settings.ts';

/** Port of the Service, so that in-cluster URLs need none. */
export const SERVICE_PORT = 80;

/** `adapter`: it is served by the pods of its base, on a port of its own. */
export function buildService(
  model: ModelDeployment,
  settings: Pick<BuildSettings, 'routePreset'>,
  adapter?: Pick<ServedAdapter, 'base' | 'port'>,
): KubeObject {
  const { name } = model.metadata;
  const annotations = presetServiceAnnotations(decidePreset(model, settings));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: childMetadata(model, childNames(name).service, annotations),
    spec: {
      type: 'ClusterIP',
      selector: podSelector(adapter?.base ?? name),
      publishNotReadyAddresses: false,
      // A number: not every Kubernetes version resolves port names of native sidecars.
      ports: [
        {
          name: HTTP_PORT_NAME,
          port: SERVICE_PORT,
          targetPort: adapter?.port ?? PORTS.http,
          protocol: 'TCP',
        },
      ],
    },
  };
}
