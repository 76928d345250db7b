/** The host of a deployment, and the URL that clients are given. */
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { defaultHost } from '../../api/names.ts';
import type { Problem } from '../status/problem.ts';
import type { BuildSettings } from './settings.ts';

type HostSettings = Pick<BuildSettings, 'domain' | 'allowedHosts' | 'consoleHost'>;

export function decideHost({ metadata, spec }: ModelDeployment, settings: HostSettings): string {
  return spec.route.host ?? defaultHost(metadata.name, metadata.namespace, settings.domain);
}

/** A custom host could be another tenant's: only those that the installation allows. */
export function isHostAllowed({ metadata }: ModelDeployment, host: string, settings: HostSettings): boolean {
  // People type their tokens there.
  if (host === settings.consoleHost) return false;
  if (host === defaultHost(metadata.name, metadata.namespace, settings.domain)) return true;
  return settings.allowedHosts.some(
    (allowed) =>
      allowed === host || (matchesWildcard(allowed, host) && !isDefaultHost(host, settings.domain)),
  );
}

/** Whether it is, or could be, what some deployment has by its name. */
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

/** Base URL for SDKs; without a route the Service's, which works in the cluster only. */
export function decideURL(
  model: ModelDeployment,
  settings: HostSettings & Pick<BuildSettings, 'urlScheme' | 'urlPort' | 'endpointURL'>,
): string {
  const { metadata, spec } = model;
  if (settings.endpointURL) return settings.endpointURL(metadata);
  if (!spec.route.enabled) return `http://${metadata.name}.${metadata.namespace}.svc/v1`;
  const scheme = spec.route.tlsSecretName ? 'https' : settings.urlScheme;
  const port = settings.urlPort === undefined ? '' : `:${settings.urlPort}`;
  return `${scheme}://${decideHost(model, settings)}${port}/v1`;
}
