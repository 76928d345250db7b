/** What should be in Redis, read from the watched objects on demand. */

import type { V1Pod } from '@kubernetes/client-node';
import { parseAmount } from '../api/amount.ts';
import { toBudget } from '../api/budget-spec.ts';
import {
  buildGatewayConfig,
  type GatewayConfig,
  type InstallationSettings,
  type LiveScaling,
} from '../api/gateway-config.ts';
import type { ModelDeployment } from '../api/model-deployment.ts';
import type { DeploymentName } from '../api/names.ts';
import { parseDuration } from '../api/quantity.ts';
import { WORKSPACE_NAME, type Workspace, workspaceSpec } from '../api/workspace.ts';
import type { CredentialStore } from './credential/credential-store.ts';
import { BY_MODEL, type ClusterView } from './framework/cluster-view.ts';
import type { KeyStore } from './key/key-store.ts';
import type { ModelStore } from './model/model-store.ts';
import { listSenders, listShares } from './model/traffic.ts';
import type { DesiredState, PublishedDeployment } from './publish/desired-state.ts';
import { buildAdapterConfig } from './resources/adapter-config.ts';
import { serveAdapter } from './resources/adapters.ts';
import { decideURL, type URLSettings } from './resources/route.ts';
import { rememberBudget } from './status/budget.ts';
import { WAITING_FOR_QUOTA } from './status/placement.ts';
import { isServing } from './status/pod-findings.ts';
import type { EndpointStore } from './webhook/endpoint-store.ts';

export interface DesiredStateSources {
  settings: URLSettings & Pick<InstallationSettings, 'documentationURL'>;
  view: Pick<ClusterView, 'pods' | 'workspaces' | 'unseen'>;
  models: ModelStore;
  keys: KeyStore;
  credentials: CredentialStore;
  endpoints: EndpointStore;
  /** What the autoscaler publishes for gateways. */
  liveScaling: (model: ModelDeployment) => LiveScaling;
  /** By namespace; null = none available. */
  signingSecrets: ReadonlyMap<string, string | null>;
}

export function createDesiredState(sources: DesiredStateSources): DesiredState {
  const { settings, view, models, keys, credentials, endpoints, signingSecrets } = sources;
  /** One field of a namespace's Workspace, whatever the others are; null = not set, undefined = not readable. */
  const readField = <F extends 'ownerEmail' | 'credit' | 'keepInputs' | 'currency' | 'owners'>(
    namespace: string,
    field: F,
  ) => {
    const object = view.workspaces.get(`${namespace}/${WORKSPACE_NAME}`);
    // An object that is not kept has the reason as its spec (object-budget.ts): no credit would mean unlimited.
    if (typeof object?.spec === 'string') return undefined;
    const spec = (object?.spec ?? {}) as Record<string, unknown>;
    const parsed = workspaceSpec.shape[field].safeParse(spec[field]);
    return parsed.success
      ? ((parsed.data ?? null) as Exclude<Workspace['spec'][F], undefined> | null)
      : undefined;
  };
  const hostOf = (model: ModelDeployment, key: string): string | undefined => {
    const host = models.hostOf(model);
    return host !== undefined && models.hostOwner(host) === key ? host : undefined;
  };
  const listNames = (namespace: string): string[] =>
    [...models.names(namespace)].filter((name) => !models.isWithdrawn(`${namespace}/${name}`));
  const scalingOf = (model: ModelDeployment) => (model.spec.scaling ? sources.liveScaling(model) : undefined);
  const obstacleOf = (key: string) => {
    const obstacle = models.obstacleOf(key);
    return obstacle && { obstacle };
  };
  /** It has no pods of its own. */
  const quotaObstacleOf = ({ metadata }: ModelDeployment) => {
    const found = obstacleOf(`${metadata.namespace}/${metadata.name}`);
    return found?.obstacle === WAITING_FOR_QUOTA ? found : undefined;
  };
  const describeAdapter = (adapter: ModelDeployment, base: ModelDeployment): GatewayConfig => ({
    ...buildAdapterConfig(serveAdapter(adapter, base), settings, scalingOf(base)),
    ...(obstacleOf(`${adapter.metadata.namespace}/${adapter.metadata.name}`) ?? quotaObstacleOf(base)),
  });
  /** Undefined for an adapter without its base. */
  const describeModel = (model: ModelDeployment, key: string): GatewayConfig | undefined => {
    if (model.spec.adapterOf) {
      const base = models.baseOf(model);
      return base && describeAdapter(model, base);
    }
    const installation = { ...settings, baseURL: decideURL(model, settings) };
    const adapters = models.servedBy(model).map((adapter) => describeAdapter(adapter, model));
    const traffic = listShares(models, model);
    const trafficFrom = listSenders(models, model);
    return {
      ...buildGatewayConfig(model, installation, scalingOf(model)),
      ...obstacleOf(key),
      ...(adapters.length > 0 && { adapters }),
      ...(traffic && { traffic }),
      ...(trafficFrom && { trafficFrom }),
    };
  };
  /** The pods of the base that serves an adapter. */
  const listPodsOf = (adapter: ModelDeployment): V1Pod[] => {
    const key = `${adapter.metadata.namespace}/${adapter.spec.adapterOf!.deployment}`;
    return models.isServed(adapter) ? (view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[]) : [];
  };
  return {
    namespaces: () =>
      new Set([
        ...models.namespaces(),
        ...keys.namespaces(),
        ...credentials.namespaces(),
        ...endpoints.namespaces(),
        ...view.workspaces.list().map(({ metadata }) => metadata.namespace!),
      ]),
    unseen: () => view.unseen(),
    knows: (namespace) =>
      models.names(namespace).size > 0 ||
      keys.has(namespace) ||
      credentials.has(namespace) ||
      endpoints.has(namespace) ||
      view.workspaces.get(`${namespace}/${WORKSPACE_NAME}`) !== undefined,
    names: listNames,
    hosts: (namespace) =>
      new Map(
        listNames(namespace).flatMap((name): [string, string | undefined][] => {
          const parsed = models.get(`${namespace}/${name}`);
          return parsed?.ok ? [[name, hostOf(parsed.value, `${namespace}/${name}`)]] : [];
        }),
      ),
    deployment({ namespace, name }: DeploymentName): PublishedDeployment | undefined {
      const key = `${namespace}/${name}`;
      const parsed = models.get(key);
      if (!parsed || models.isWithdrawn(key) || (!parsed.ok && models.isLeaving(key))) return undefined;
      const pods = view.pods.byIndex(BY_MODEL, key) as unknown as V1Pod[];
      const serving = parsed.ok && parsed.value.spec.adapterOf ? listPodsOf(parsed.value) : pods;
      const addresses = serving.filter(isServing).map(({ status }) => status?.podIP);
      return {
        config: parsed.ok ? describeModel(parsed.value, key) : undefined,
        host: parsed.ok ? hostOf(parsed.value, key) : undefined,
        addresses: addresses.filter((address) => address !== undefined).sort(),
        pods: pods.length,
      };
    },
    apiKeys: (namespace) => keys.published(namespace),
    apiKey: (namespace, sha256) => keys.publishedAs(namespace, sha256),
    credentials: (namespace) => credentials.entries(namespace),
    endpoints: (namespace) => endpoints.entries(namespace),
    signingSecret: (namespace) => signingSecrets.get(namespace),
    ownerEmail: (namespace) => readField(namespace, 'ownerEmail'),
    creditMicros(namespace) {
      const credit = readField(namespace, 'credit');
      return typeof credit === 'string' ? parseAmount(credit) : credit;
    },
    keepInputsMs(namespace) {
      const kept = readField(namespace, 'keepInputs');
      return typeof kept === 'string' ? parseDuration(kept) : kept;
    },
    currency: (namespace) => readField(namespace, 'currency'),
    owners(namespace) {
      const owners = readField(namespace, 'owners');
      if (owners === undefined) return undefined;
      const bounded = (owners ?? []).flatMap(({ name, budget }) =>
        budget ? [[name, toBudget(budget)] as const] : [],
      );
      return new Map(bounded);
    },
    budgets(namespace) {
      const status = (view.workspaces.get(`${namespace}/${WORKSPACE_NAME}`)?.status ?? {}) as Partial<
        Workspace['status']
      >;
      const owners = (readField(namespace, 'owners') ?? []).flatMap(({ name, budget }) => {
        const known = status.owners?.find((each) => each.name === name);
        return budget ? rememberBudget({ kind: 'owner', name }, budget, known) : [];
      });
      return [...keys.budgets(namespace), ...owners];
    },
    needsUser: (namespace) => models.names(namespace).size > 0,
  };
}
