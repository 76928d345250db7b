/** Which deployment a host name belongs to, and where its replicas are. */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { DeploymentName } from '../../api/names.ts';
import type { SharedLimits } from '../environment/environment.ts';
import { FreshCache } from '../http/fresh-cache.ts';

export interface KnownDeployment {
  config: GatewayConfig;
  /** Addresses of its ready pods that are not being removed. */
  addresses: readonly string[];
}

/** Each throws while Redis is down. */
export interface DirectorySource {
  readHost(host: string): Promise<DeploymentName | null>;
  readDeployment(namespace: string, name: string): Promise<GatewayConfig | null>;
  readReplicas(namespace: string, name: string): Promise<string[]>;
}

const TTL_MS = 1_000;
const MAX_HOSTS = 20_000;
const MAX_DEPLOYMENTS = 10_000;

/** Known entries stay in use while Redis is down. */
export class Directory {
  readonly #hosts: FreshCache<DeploymentName | null>;
  readonly #deployments: FreshCache<KnownDeployment | null>;

  constructor(source: DirectorySource) {
    this.#hosts = new FreshCache({
      load: (host) => source.readHost(host),
      ttlMs: TTL_MS,
      maxEntries: MAX_HOSTS,
    });
    this.#deployments = new FreshCache({
      load: (key) => loadDeployment(source, key),
      ttlMs: TTL_MS,
      maxEntries: MAX_DEPLOYMENTS,
    });
  }

  /** null: no deployment has this host. Throws while Redis is down and the host was never seen. */
  async findByHost(host: string): Promise<KnownDeployment | null> {
    const owner = await this.#hosts.get(host);
    return owner && this.find(owner.namespace, owner.name);
  }

  find(namespace: string, name: string): KnownDeployment | null | Promise<KnownDeployment | null> {
    return this.#deployments.get(`${namespace}/${name}`);
  }

  /** Something was published, or may have been. */
  expire(): void {
    this.#hosts.expireAll();
    this.#deployments.expireAll();
  }
}

async function loadDeployment(source: DirectorySource, key: string): Promise<KnownDeployment | null> {
  const [namespace = '', name = ''] = key.split('/');
  const [config, addresses] = await Promise.all([
    source.readDeployment(namespace, name),
    source.readReplicas(namespace, name),
  ]);
  return config && { config, addresses };
}

const MAX_HOST_LENGTH = 253;

/** The name in a Host header: without port and trailing dot, in lowercase; null if invalid. */
export function parseHost(header: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/\s]+?))\.?(?::[0-9]{1,5})?$/i.exec(header ?? '');
  const host = (match?.[1] ?? match?.[2])?.toLowerCase();
  return host && host.length <= MAX_HOST_LENGTH ? host : null;
}

/** The deployment of a Service's DNS name: `name.namespace.svc`, with or without the cluster domain. */
export function parseServiceHost(host: string): DeploymentName | null {
  const [name = '', namespace = '', ...rest] = host.split('.');
  return namespace !== '' && (rest.length === 0 || rest[0] === 'svc') ? { namespace, name } : null;
}

/** The smaller of each deployment's limit and the front's own. */
export function applySharedLimits(config: GatewayConfig, shared: SharedLimits): GatewayConfig {
  const limits = { ...config.limits };
  for (const name of Object.keys(shared) as (keyof SharedLimits)[])
    limits[name] = Math.min(limits[name], shared[name]);
  return { ...config, limits };
}
