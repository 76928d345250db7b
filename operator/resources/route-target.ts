/** Where a route lives and what it points at: the deployment's own Service, or the front's. */
import { createHash } from 'node:crypto';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames } from '../../api/names.ts';
import type { ObjectMeta } from '../../kube/object.ts';
import type { Problem } from '../status/problem.ts';
import { childLabels, childMetadata } from './metadata.ts';
import { SERVICE_PORT } from './service.ts';
import type { BuildSettings } from './settings.ts';

export interface RouteTarget {
  metadata: ObjectMeta;
  service: string;
  port: number;
}

type TargetSettings = Pick<BuildSettings, 'namespace' | 'frontService' | 'frontServicePort'>;

/** An object cannot own one in another namespace, so the front's routes have no owner here. */
export function decideTarget(
  model: ModelDeployment,
  via: 'Direct' | 'Front',
  settings: TargetSettings,
  annotations: Record<string, string> = {},
): RouteTarget {
  const { name, namespace } = model.metadata;
  const names = childNames(name);
  if (via === 'Direct')
    return {
      metadata: childMetadata(model, names.route, annotations),
      service: names.service,
      port: SERVICE_PORT,
    };
  return {
    metadata: {
      name: frontRouteName(namespace, name),
      namespace: settings.namespace,
      labels: childLabels(model),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    service: settings.frontService,
    port: settings.frontServicePort,
  };
}

/** Name of a deployment's route in Berth's namespace: unlike any other's, and readable. */
export function frontRouteName(namespace: string, name: string): string {
  const hash = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 8);
  return `${namespace.slice(0, 60)}-${name}-${hash}`;
}

/** Such a Secret is Berth's, not the tenant's: only those that the installation allows. */
export function findCertificateProblem(
  { spec }: ModelDeployment,
  { frontTLSSecrets, routeVia }: Pick<BuildSettings, 'frontTLSSecrets' | 'routeVia'>,
): Problem[] {
  const { tlsSecretName, via = routeVia } = spec.route;
  if (tlsSecretName === undefined || via === 'Direct' || frontTLSSecrets.includes(tlsSecretName)) return [];
  const allowed = frontTLSSecrets.length > 0 ? `only ${frontTLSSecrets.join(', ')} are` : 'none is';
  const message =
    `spec.route.tlsSecretName ${tlsSecretName}: with via Front it refers to a Secret in Berth's own namespace, and ${allowed} ` +
    "allowed there (ingress.frontTLSSecrets in the chart); omit it to use the controller's own certificate, or use via Direct";
  return [{ reason: 'TLSSecretNotAllowed', message }];
}

/** Annotations act with the operator's rights: only those that the installation allows. */
export function findAnnotationProblem(
  { spec }: ModelDeployment,
  { allowedAnnotations }: Pick<BuildSettings, 'allowedAnnotations'>,
): Problem[] {
  const refused = Object.keys(spec.route.annotations ?? {}).filter(
    (key) => !allowedAnnotations.includes(key),
  );
  if (refused.length === 0) return [];
  const allowed = allowedAnnotations.length > 0 ? allowedAnnotations.join(', ') : 'none';
  const message = `spec.route.annotations: ${refused.join(', ')} not allowed (allowed: ${allowed})`;
  return [{ reason: 'AnnotationNotAllowed', message }];
}
