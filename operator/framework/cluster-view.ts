/** All cluster state that reconciling reads, cached by watches; of Secrets only the metadata of its own. */
import type {
  V1Deployment,
  V1EndpointSlice,
  V1IngressClass,
  V1Job,
  V1Pod,
  V1Service,
} from '@kubernetes/client-node';
import { LRUCache } from 'lru-cache';
import { ANNOTATIONS, FIELD_MANAGER, LABELS, MANAGED_BY, STATUS_FIELD_MANAGER } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../kube/log.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { SharedFields } from '../../kube/shared-fields.ts';
import { createWatcher, type Watcher, type WatcherOptions } from '../../kube/watcher.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGER_LABEL } from '../resources/front-slices.ts';
import { packTemplate } from '../resources/packed-template.ts';
import { isDrainingForOthers } from '../status/eviction.ts';
import { BERTH_RESOURCES } from './berth-resources.ts';
import { ObjectBudget } from './object-budget.ts';
import { keepSpecWriter } from './spec-writer.ts';

/** Index of children and pods: `namespace/name` of their deployment. */
export const BY_MODEL = 'model';
/** Index of pods that drain for others. */
const DRAINING = 'draining';

const WARNING_INTERVAL_MS = 600_000;

export interface ClusterViewOptions {
  client: KubeClient;
  /** Only these namespaces; empty for all. */
  namespaces: readonly string[];
  /** Where the front's Service is. */
  front: { namespace: string; service: string };
  resyncMs?: number;
  log: Log;
}

export type ClusterView = ReturnType<typeof createClusterView>;

export function createClusterView({ client, namespaces, front, resyncMs, log }: ClusterViewOptions) {
  const budget = new ObjectBudget();
  const warned = new LRUCache<string, true>({ max: 1_000, ttl: WARNING_INTERVAL_MS });
  const warnOfTooMany = ({ kind, metadata: { namespace = '' } }: KubeObject) => {
    if (warned.has(namespace)) return;
    warned.set(namespace, true);
    log.warn(
      { namespace, kind },
      'a namespace has more objects than the operator keeps, ignoring the others',
    );
  };
  const watchFreely = <T extends KubeObject>(resource: Resource, more: Partial<WatcherOptions<T>> = {}) =>
    createWatcher<T>({ client, resource, namespaces, resyncMs, log, trim: trimManagers, ...more });
  const watch = <T extends KubeObject>(
    resource: Resource,
    more: Partial<WatcherOptions<T>> & { trim?: (object: T) => T } = {},
  ) => {
    const trim = more.trim ?? trimManagers;
    const admit = (object: T): T | undefined => {
      const kept = budget.admit(object, trim);
      if (!kept) warnOfTooMany(object);
      return kept;
    };
    const watcher = watchFreely<T>(resource, { ...more, trim: admit });
    watcher.onChange((old, current) => {
      if (current === undefined) budget.release(old!);
    });
    return watcher;
  };
  const children = <T extends KubeObject>(
    resource: Resource,
    trim: (object: T) => T = trimToMetadata,
    managerLabel: string = LABELS.managedBy,
  ) =>
    watch<T>(resource, {
      trim,
      labelSelector: `${managerLabel}=${MANAGED_BY},${LABELS.deployment}`,
      indexes: { [BY_MODEL]: modelKeyOf },
    });
  const watchers = {
    models: watch(BERTH_RESOURCES.ModelDeployment, { trim: trimModel }),
    keys: watch(BERTH_RESOURCES.APIKey),
    // One per namespace, written by administrators: its credit must be known however many objects the namespace holds.
    workspaces: watchFreely(BERTH_RESOURCES.Workspace),
    credentials: watch(BERTH_RESOURCES.StorageCredential),
    endpoints: watch(BERTH_RESOURCES.WebhookEndpoint),
    pods: watch<Wire<V1Pod>>(RESOURCES.Pod, {
      labelSelector: `${LABELS.deployment},${LABELS.component}=model`,
      indexes: {
        [BY_MODEL]: modelKeyOf,
        [DRAINING]: (pod) => (isDrainingForOthers(pod as unknown as V1Pod) ? [DRAINING] : []),
      },
      trim: trimPod,
    }),
    deployments: children<Wire<V1Deployment>>(RESOURCES.Deployment, trimDeployment),
    services: children<Wire<V1Service>>(RESOURCES.Service, trimService),
    ingresses: children(RESOURCES.Ingress),
    budgets: children(RESOURCES.PodDisruptionBudget),
    policies: children(RESOURCES.NetworkPolicy),
    claims: children(RESOURCES.PersistentVolumeClaim),
    /** Downloads: only their end and what they are for. */
    jobs: children<Wire<V1Job>>(RESOURCES.Job, trimJob),
    // The endpointslice controller gives its own slices the labels of their Service.
    slices: children<Wire<V1EndpointSlice>>(RESOURCES.EndpointSlice, trimSlice, SLICE_MANAGER_LABEL),
    // Metadata only: names, owners and versions of what the operator created, never the content (decision 0125).
    secrets: watch(RESOURCES.Secret, {
      labelSelector: `${LABELS.managedBy}=${MANAGED_BY}`,
      indexes: { [BY_MODEL]: modelKeyOf },
    }),
    /** Routes through the front, in Berth's own namespace. */
    frontIngresses: watch(RESOURCES.Ingress, {
      namespaces: [front.namespace],
      labelSelector: `${LABELS.managedBy}=${MANAGED_BY},${LABELS.deployment}`,
    }),
    fronts: watch<Wire<V1EndpointSlice>>(RESOURCES.EndpointSlice, {
      namespaces: [front.namespace],
      labelSelector: `${SERVICE_NAME_LABEL}=${front.service}`,
    }),
    // Cluster-scoped, so inaccessible to an operator that is confined to namespaces.
    classes: namespaces.length === 0 ? watch<Wire<V1IngressClass>>(RESOURCES.IngressClass) : undefined,
  };
  const all = Object.values(watchers).filter((watcher) => watcher !== undefined) as Watcher<KubeObject>[];
  return {
    ...watchers,
    all,
    /** Kinds whose objects belong to one deployment each. */
    children: [
      watchers.deployments,
      watchers.services,
      watchers.ingresses,
      watchers.budgets,
      watchers.policies,
      watchers.claims,
      watchers.slices,
      watchers.secrets,
    ] as unknown as Watcher<KubeObject>[],
    start: () => {
      for (const watcher of all) watcher.start();
    },
    stop: async () => {
      await Promise.all(all.map((watcher) => watcher.stop()));
    },
    waitForSync: async (signal?: AbortSignal) => {
      await Promise.all(all.map((watcher) => watcher.waitForSync(signal)));
    },
    /** Namespaces with published objects that may not be read. */
    unseen: () =>
      new Set(
        [
          watchers.models,
          watchers.keys,
          watchers.workspaces,
          watchers.credentials,
          watchers.endpoints,
          watchers.pods,
        ].flatMap((watcher) => watcher.unseen()),
      ),
    /** Milliseconds since the quietest watch received data from the API server. */
    ageMs: () => Math.max(...all.map((watcher) => watcher.ageMs())),
  };
}

/** Pods of all deployments that drain for others. */
export const listDraining = ({ pods }: { pods: Pick<ClusterView['pods'], 'byIndex'> }): V1Pod[] =>
  pods.byIndex(DRAINING, DRAINING) as unknown as V1Pod[];

/** The deployment that a child or a pod belongs to, by its label. */
export function modelKeyOf({ metadata }: Pick<KubeObject, 'metadata'>): string[] {
  const name = metadata.labels?.[LABELS.deployment];
  return name === undefined ? [] : [`${metadata.namespace}/${name}`];
}

const fields = new SharedFields([FIELD_MANAGER, STATUS_FIELD_MANAGER]);

/** Everything but who else owns which field. */
export const trimManagers = <T extends KubeObject>(object: T): T => fields.trim(object);

/** Also who wrote the spec last, for its history. */
export const trimModel = <T extends KubeObject>(object: T): T => keepSpecWriter(object, trimManagers(object));

/** Keeps of most children only their owner and what was applied; the applier reads what others changed. */
export function trimToMetadata<T extends KubeObject>(object: T): T {
  const { apiVersion, kind, metadata } = object;
  return fields.trim({ apiVersion, kind, metadata } as T);
}

/** The pod template, the largest part of a Deployment, is already kept as an annotation. */
export function trimDeployment(deployment: Wire<V1Deployment>): Wire<V1Deployment> {
  const { replicas, strategy } = deployment.spec ?? {};
  const { [ANNOTATIONS.template]: template, ...annotations } = deployment.metadata.annotations ?? {};
  if (template !== undefined) annotations[ANNOTATIONS.template] = packTemplate(template);
  const metadata = { ...deployment.metadata, annotations };
  return fields.trim({ ...deployment, metadata, spec: { replicas, strategy } as V1Deployment['spec'] });
}

export function trimJob(job: Wire<V1Job>): Wire<V1Job> {
  const { succeeded, active, ready } = job.status ?? {};
  return { ...trimToMetadata(job), status: { succeeded, active, ready } };
}

export function trimService(service: Wire<V1Service>): Wire<V1Service> {
  const { ipFamilies, ports } = service.spec ?? {};
  return fields.trim({ ...service, status: undefined, spec: { ipFamilies, ports } });
}

/** The front's endpoints are the same in the slices of all deployments, so these share one list of each content. */
const endpointLists = new LRUCache<string, NonNullable<V1EndpointSlice['endpoints']>>({ max: 1_000 });

export function trimSlice(slice: Wire<V1EndpointSlice>): Wire<V1EndpointSlice> {
  const { addressType } = slice;
  // The API server writes null where there are none.
  const endpoints = slice.endpoints ?? [];
  const content = JSON.stringify(endpoints);
  const shared = endpointLists.get(content) ?? endpoints;
  endpointLists.set(content, shared);
  return { ...trimToMetadata(slice), addressType, endpoints: shared };
}

/** Keeps of a pod's spec only what is read: the node, what holds it back from one, the images, and arguments of what has ended. */
export function trimPod(pod: Wire<V1Pod>): Wire<V1Pod> {
  // The arguments tell whether an end is about the current spec.
  const ended = new Set(
    pod.status?.containerStatuses
      ?.filter(({ state, lastState }) => state?.terminated ?? lastState?.terminated)
      .map(({ name }) => name),
  );
  const trim = (containers: { name: string; image?: string; args?: string[] }[] | undefined) =>
    containers?.map(({ name, image, args }) => ({ name, image, ...(ended.has(name) && { args }) }));
  const spec = {
    nodeName: pod.spec?.nodeName,
    schedulingGates: pod.spec?.schedulingGates,
    containers: trim(pod.spec?.containers) ?? [],
    initContainers: trim(pod.spec?.initContainers),
  };
  return { ...pod, spec, metadata: { ...pod.metadata, managedFields: undefined } };
}
