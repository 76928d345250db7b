/** What should be in Redis, from the cluster's current state, and the units in which it is published. */

import type { Budget } from '../../api/budget.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { DeploymentName } from '../../api/names.ts';
import type { PublishedCredential, PublishedEndpoint, PublishedKey } from '../../api/redis-keys.ts';
import type { RememberedBudget } from '../../redis/admission/budgets.ts';

export interface PublishedDeployment {
  /** Undefined = its spec is invalid, so Redis keeps what it holds of it, including the host; the pods are known. */
  config: GatewayConfig | undefined;
  /** The host that this deployment owns; undefined if it has none, or another owns it. */
  host: string | undefined;
  /** Addresses of its ready pods. */
  addresses: readonly string[];
  /** All pods that it has. */
  pods: number;
}

export interface WantedCredential {
  name: string;
  /** null = not to be published; undefined = not known yet, so Redis keeps what it holds. */
  entry: PublishedCredential | null | undefined;
}

export interface WantedEndpoint {
  name: string;
  /** As with credentials. */
  entry: PublishedEndpoint | null | undefined;
}

export interface DesiredState {
  namespaces(): Iterable<string>;
  /** Namespaces that may not be read, so Redis keeps what it holds of them. */
  unseen(): ReadonlySet<string>;
  /** Whether anything of Berth is in the namespace. */
  knows(namespace: string): boolean;
  names(namespace: string): Iterable<string>;
  /** Undefined if there is nothing to publish: it is gone, or invalid and being deleted. */
  deployment(name: DeploymentName): PublishedDeployment | undefined;
  /** The host that each readable deployment of the namespace owns; undefined for none. */
  hosts(namespace: string): ReadonlyMap<string, string | undefined>;
  apiKeys(namespace: string): ReadonlyMap<string, PublishedKey>;
  /** The one with this hash; undefined if there is none. */
  apiKey(namespace: string, sha256: string): PublishedKey | undefined;
  credentials(namespace: string): readonly WantedCredential[];
  endpoints(namespace: string): readonly WantedEndpoint[];
  /** null = webhooks are not signed; undefined = not known yet, so Redis keeps what it holds. */
  signingSecret(namespace: string): string | null | undefined;
  /** null = nobody is notified of failed callbacks; undefined = not readable, so Redis keeps what it holds. */
  ownerEmail(namespace: string): string | null | undefined;
  /** Millionths granted; null = unlimited; undefined as above. */
  creditMicros(namespace: string): number | null | undefined;
  /** Milliseconds; null = not at all; undefined as above. */
  keepInputsMs(namespace: string): number | null | undefined;
  /** ISO 4217; null = not set; undefined as above. */
  currency(namespace: string): string | null | undefined;
  /** Budgets of owners of keys, by name; undefined as above. */
  owners(namespace: string): ReadonlyMap<string, Budget> | undefined;
  /** What statuses say of budgets, for a Redis that lost its data. */
  budgets(namespace: string): readonly RememberedBudget[];
  /** Whether pods of this namespace need a Redis user of their own. */
  needsUser(namespace: string): boolean;
}

/** A workspace may have very many, so only changed ones may be written. */
export interface ApiKeysTarget {
  what: 'apikeys';
  namespace: string;
  /** Hashes of those to be written; absent: all. */
  only?: ReadonlySet<string>;
}

/** The units of publishing: each is written whole, from what the desired state holds at that moment. */
export type Target =
  | { what: 'deployment'; namespace: string; name: string }
  | ApiKeysTarget
  | { what: 'credentials'; namespace: string }
  | { what: 'endpoints'; namespace: string }
  | { what: 'workspace'; namespace: string };

export const targetKey = (target: Target): string =>
  target.what === 'deployment'
    ? `deployment/${target.namespace}/${target.name}`
    : `${target.what}/${target.namespace}`;

/** More changed keys than this are written with all others. */
const MAX_CHANGED_KEYS = 500;

/** Merges two targets with the same key. */
export function mergeTargets(one: Target | undefined, other: Target): Target {
  if (one?.what !== 'apikeys' || other.what !== 'apikeys') return other;
  const { what, namespace } = other;
  if (!one.only || !other.only) return { what, namespace };
  const only = new Set([...one.only, ...other.only]);
  return only.size > MAX_CHANGED_KEYS ? { what, namespace } : { what, namespace, only };
}

/** Whether it is all of what its key stands for. */
export const isWhole = (target: Target): boolean => target.what !== 'apikeys' || target.only === undefined;

/** All of what its key stands for. */
export const widenTarget = (target: Target): Target =>
  target.what === 'apikeys' ? { what: 'apikeys', namespace: target.namespace } : target;

export const deploymentTarget = ({ namespace, name }: DeploymentName): Target => ({
  what: 'deployment',
  namespace,
  name,
});

/** Everything that is to be published. */
export function* listTargets(desired: DesiredState): Iterable<Target> {
  for (const namespace of desired.namespaces()) {
    yield { what: 'workspace', namespace };
    yield { what: 'apikeys', namespace };
    yield { what: 'credentials', namespace };
    yield { what: 'endpoints', namespace };
    for (const name of desired.names(namespace)) yield { what: 'deployment', namespace, name };
  }
}
