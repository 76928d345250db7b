/** The host of a deployment, and the URL that clients are given. */
import type { ModelDeployment } from '../../contract/model-deployment.ts';
import { defaultHost } from '../../contract/names.ts';
import type { OperatorSettings } from '../settings.ts';
import type { Problem } from '../status/problem.ts';

type HostSettings = Pick<OperatorSettings, 'domain' | 'allowedHosts'>;

export function decideHost({ metadata, spec }: ModelDeployment, settings: HostSettings): string {
  return spec.route.host ?? defaultHost(metadata.name, metadata.namespace, settings.domain);
}

/** A host of one's own could be another's: only those that the installation lets through. */
export function isHostAllowed({ metadata }: ModelDeployment, host: string, settings: HostSettings): boolean {
  return (
    host === defaultHost(metadata.name, metadata.namespace, settings.domain) ||
    settings.allowedHosts.some((allowed) => matchesHost(allowed, host))
  );
}

export function findHostProblem(model: ModelDeployment, settings: HostSettings): Problem[] {
  const host = decideHost(model, settings);
  if (isHostAllowed(model, host, settings)) return [];
  const allowed = settings.allowedHosts.length > 0 ? settings.allowedHosts.join(', ') : 'none';
  const message = `spec.route.host ${host} is not among the allowed hosts (${allowed}); leave it out for the default`;
  return [{ reason: 'HostNotAllowed', message }];
}

/** `*.example.com` stands for exactly one label. */
function matchesHost(allowed: string, host: string): boolean {
  if (!allowed.startsWith('*.')) return allowed === host;
  const [label, ...rest] = host.split('.');
  return label !== '' && rest.join('.') === allowed.slice(2);
}

/** Base URL for SDKs; without a route the Service's, which works in the cluster only. */
export function decideURL(
  model: ModelDeployment,
  settings: HostSettings & Pick<OperatorSettings, 'urlScheme' | 'urlPort'>,
): string {
  const { metadata, spec } = model;
  if (!spec.route.enabled) return `http://${metadata.name}.${metadata.namespace}.svc/v1`;
  const scheme = spec.route.tlsSecretName ? 'https' : settings.urlScheme;
  const port = settings.urlPort === undefined ? '' : `:${settings.urlPort}`;
  return `${scheme}://${decideHost(model, settings)}${port}/v1`;
}
