/** The host of a deployment, and the URL that clients are given. */

import { createHash } from 'node:crypto';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames, defaultHost } from '../../api/names.ts';
import type { ObjectMeta } from '../../kube/object.ts';
import type { Problem } from '../status/problem.ts';
import { childLabels, childMetadata } from './metadata.ts';
import { SERVICE_PORT } from './service.ts';
import type { BuildSettings, GatewayReference } from './settings.ts';

type HostSettings = Pick<BuildSettings, 'domain' | 'allowedHosts' | 'consoleHost'>;
export type URLSettings = HostSettings & Pick<BuildSettings, 'urlScheme' | 'urlPort' | 'endpointURL'>;

export function decideHost({ metadata, spec }: ModelDeployment, settings: HostSettings): string {
  return spec.route.host ?? defaultHost(metadata.name, metadata.namespace, settings.domain);
}

/** A custom host could be another tenant's: only allowed ones. */
export function isHostAllowed({ metadata }: ModelDeployment, host: string, settings: HostSettings): boolean {
  // People type their tokens there.
  if (host === settings.consoleHost) return false;
  if (host === defaultHost(metadata.name, metadata.namespace, settings.domain)) return true;
  return settings.allowedHosts.some(
    (allowed) =>
      allowed === host || (matchesWildcard(allowed, host) && !isDefaultHost(host, settings.domain)),
  );
}

/** Whether it is, or could be, some deployment's default host. */
function isDefaultHost(host: string, domain: string): boolean {
  const [label = '', ...rest] = host.split('.');
  return label.includes('--') && rest.join('.') === domain;
}

export function findHostProblem(model: ModelDeployment, settings: HostSettings): Problem[] {
  const host = decideHost(model, settings);
  if (isHostAllowed(model, host, settings)) return [];
  const message = `spec.route.host ${host} ${explainRefusal(host, settings)}; omit it to use the default`;
  return [{ reason: 'HostNotAllowed', message }];
}

function explainRefusal(host: string, { allowedHosts, consoleHost, domain }: HostSettings): string {
  if (host === consoleHost) return 'is used by the console';
  if (isDefaultHost(host, domain)) return "is another deployment's default host";
  return `is not among the allowed hosts (${allowedHosts.join(', ') || 'none'})`;
}

/** `*.example.com` stands for exactly one label. */
function matchesWildcard(allowed: string, host: string): boolean {
  if (!allowed.startsWith('*.')) return false;
  const [label, ...rest] = host.split('.');
  return label !== '' && rest.join('.') === allowed.slice(2);
}

/** Base URL for SDKs; without a route the Service's, which works only in the cluster. */
export function decideURL(model: ModelDeployment, settings: URLSettings): string {
  const { metadata, spec } = model;
  if (settings.endpointURL) return settings.endpointURL(metadata);
  if (!spec.route.enabled) return `http://${metadata.name}.${metadata.namespace}.svc/v1`;
  const scheme = spec.route.tlsSecretName ? 'https' : settings.urlScheme;
  const port = settings.urlPort === undefined ? '' : `:${settings.urlPort}`;
  return `${scheme}://${decideHost(model, settings)}${port}/v1`;
}

/** Whether a deployment is routed by an Ingress or by an HTTPRoute, and at which Gateway. */
type GatewaySettings = Pick<BuildSettings, 'gateway'>;

export function decideGateway(
  { metadata, spec }: Pick<ModelDeployment, 'metadata' | 'spec'>,
  { gateway }: GatewaySettings,
): GatewayReference | undefined {
  if (!spec.route.gateway) return gateway;
  const { namespace = metadata.namespace, ...own } = spec.route.gateway;
  return { ...own, namespace };
}

export const decideRouteType = (
  model: Pick<ModelDeployment, 'metadata' | 'spec'>,
  settings: GatewaySettings,
): 'Ingress' | 'HTTPRoute' =>
  model.spec.route.type ?? (decideGateway(model, settings) ? 'HTTPRoute' : 'Ingress');

export function findGatewayProblem(model: ModelDeployment, settings: GatewaySettings): Problem[] {
  if (decideRouteType(model, settings) === 'Ingress' || decideGateway(model, settings)) return [];
  const message =
    'spec.route.type HTTPRoute needs a Gateway: set spec.route.gateway, or ingress.gateway in the chart';
  return [{ reason: 'NoGateway', message }];
}

/** Where a route lives and what it points at: the deployment's own Service, or the front's. */
export interface RouteTarget {
  metadata: ObjectMeta;
  service: string;
  port: number;
}

type TargetSettings = Pick<BuildSettings, 'namespace' | 'frontService' | 'frontServicePort'>;

/** An object cannot own one in another namespace, so the front's routes have no owner here. */
export function decideRouteTarget(
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

/** Such a Secret is Berth's, not the tenant's: only allowed ones. */
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

/** Annotations act with the operator's rights: only allowed ones. */
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
