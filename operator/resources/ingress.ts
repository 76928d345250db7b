/** The Ingress of a deployment's host. */
import type { V1IngressSpec } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { resolveLimits } from '../../api/model-limits.ts';
import type { RouteVia } from '../../api/model-route.ts';
import type { KubeObject } from '../../kube/object.ts';
import { decideHost, decideRouteTarget } from './route.ts';
import { decidePreset, presetAnnotations } from './route-presets.ts';
import type { BuildSettings } from './settings.ts';

export function buildIngress(model: ModelDeployment, settings: BuildSettings, via: RouteVia): KubeObject {
  const { route, limits, kind } = model.spec;
  const host = decideHost(model, settings);
  const { metadata, service, port } = decideRouteTarget(model, via, settings, {
    ...presetAnnotations(decidePreset(model, settings), resolveLimits(limits, kind)),
    ...route.annotations,
  });
  const className = route.className ?? settings.ingressClass;
  const backend = { service: { name: service, port: { number: port } } };
  const spec: V1IngressSpec = {
    ...(className ? { ingressClassName: className } : {}),
    ...(route.tlsSecretName ? { tls: [{ hosts: [host], secretName: route.tlsSecretName }] } : {}),
    rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
  };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata, spec };
}
