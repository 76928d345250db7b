/** The HTTPRoute of a deployment's host, at the Gateway that its spec names, else at the installation's. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { RouteVia } from '../../api/model-route.ts';
import type { KubeObject } from '../../kube/object.ts';
import { decideGateway, decideHost, decideRouteTarget } from './route.ts';
import { decidePreset, presetTimeouts } from './route-presets.ts';
import type { BuildSettings } from './settings.ts';

export function buildHTTPRoute(model: ModelDeployment, settings: BuildSettings, via: RouteVia): KubeObject {
  const { route } = model.spec;
  const { metadata, service, port } = decideRouteTarget(model, via, settings, route.annotations);
  const timeouts = presetTimeouts(decidePreset(model, settings));
  const { name, namespace, sectionName } = decideGateway(model, settings)!;
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata,
    spec: {
      parentRefs: [
        {
          name,
          namespace,
          ...(sectionName ? { sectionName } : {}),
        },
      ],
      hostnames: [decideHost(model, settings)],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ name: service, port }],
          ...(timeouts ? { timeouts } : {}),
        },
      ],
    },
  };
}
