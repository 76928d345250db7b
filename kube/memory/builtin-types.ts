/** Built-in Kubernetes kinds of the memory API server. */

import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import { events, eventsOfCore } from './event-types.ts';
import type { ResourceType } from './resource-type.ts';
import { ageColumn, type Column, nameColumn, readJSONPath } from './table.ts';

const column = (name: string, read: Column['read'] | string, priority = 0): Column => ({
  name,
  type: 'string',
  priority,
  read: typeof read === 'string' ? (object) => readJSONPath(object, read) : read,
});

type Options = Partial<
  Pick<ResourceType, 'shortNames' | 'categories' | 'hasStatus' | 'scale' | 'namespaced'>
> & {
  columns?: readonly Column[];
};

function define(apiVersion: string, kind: string, plural: string, options: Options = {}): ResourceType {
  const slash = apiVersion.lastIndexOf('/');
  const { columns = [], ...rest } = options;
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    hasStatus: false,
    ...rest,
    columns: [nameColumn, ...columns, ageColumn],
  };
}

type Statuses = {
  ready?: boolean;
  restartCount?: number;
  state?: Record<string, { reason?: string }>;
  name: string;
}[];

function statusesOf({ status }: KubeObject): { init: Statuses; main: Statuses } {
  const { initContainerStatuses: init = [], containerStatuses: main = [] } = (status ?? {}) as Record<
    string,
    Statuses
  >;
  return { init, main };
}

const sidecarNames = ({ spec }: KubeObject): string[] =>
  ((spec as { initContainers?: { name: string; restartPolicy?: string }[] }).initContainers ?? [])
    .filter(({ restartPolicy }) => restartPolicy === 'Always')
    .map(({ name }) => name);

function describeReady(pod: KubeObject): string {
  const { init, main } = statusesOf(pod);
  const sidecars = sidecarNames(pod);
  const all = [...init.filter(({ name }) => sidecars.includes(name)), ...main];
  const { containers = [] } = pod.spec as { containers?: unknown[] };
  return `${all.filter(({ ready }) => ready).length}/${containers.length + sidecars.length}`;
}

function describePhase(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp) return 'Terminating';
  const { init, main } = statusesOf(pod);
  for (const { state = {} } of [...init, ...main]) {
    const reason =
      state.waiting?.reason ??
      (state.terminated?.reason === 'Completed' ? undefined : state.terminated?.reason);
    if (reason && reason !== 'PodInitializing' && reason !== 'ContainerCreating') return reason;
  }
  return String((pod.status as { phase?: string } | undefined)?.phase ?? 'Pending');
}

const countRestarts = (pod: KubeObject): string => {
  const { init, main } = statusesOf(pod);
  return String([...init, ...main].reduce((sum, { restartCount = 0 }) => sum + restartCount, 0));
};

const POD_COLUMNS = [
  column('Ready', describeReady),
  column('Status', describePhase),
  column('Restarts', countRestarts),
];

const countFields = (path: string) => (object: KubeObject) => {
  const value = readJSONPath(object, path);
  return String(isObject(value) ? Object.keys(value).length : 0);
};

const listPorts = (service: KubeObject) =>
  ((service.spec as { ports?: { port: number; protocol?: string }[] }).ports ?? [])
    .map(({ port, protocol = 'TCP' }) => `${port}/${protocol}`)
    .join(',');

const DEPLOYMENT_SCALE = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

const number = (path: string) => (object: KubeObject) => String(readJSONPath(object, path) ?? 0);

export const BUILTIN_TYPES: readonly ResourceType[] = [
  define('v1', 'Namespace', 'namespaces', {
    namespaced: false,
    hasStatus: true,
    shortNames: ['ns'],
    columns: [column('Status', '.status.phase')],
  }),
  define('v1', 'Pod', 'pods', {
    hasStatus: true,
    shortNames: ['po'],
    categories: ['all'],
    columns: POD_COLUMNS,
  }),
  define('v1', 'Node', 'nodes', { namespaced: false, hasStatus: true, shortNames: ['no'] }),
  define('v1', 'Service', 'services', {
    hasStatus: true,
    shortNames: ['svc'],
    categories: ['all'],
    columns: [
      column('Type', '.spec.type'),
      column('Cluster-IP', () => '<none>'),
      column('Port(s)', listPorts),
    ],
  }),
  define('v1', 'Secret', 'secrets', {
    columns: [column('Type', '.type'), column('Data', countFields('.data'))],
  }),
  define('v1', 'ConfigMap', 'configmaps', {
    shortNames: ['cm'],
    columns: [column('Data', countFields('.data'))],
  }),
  define('v1', 'ServiceAccount', 'serviceaccounts', { shortNames: ['sa'] }),
  define('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', {
    hasStatus: true,
    shortNames: ['pvc'],
    columns: [column('Status', '.status.phase')],
  }),
  eventsOfCore,
  events,
  define('apps/v1', 'Deployment', 'deployments', {
    hasStatus: true,
    shortNames: ['deploy'],
    categories: ['all'],
    scale: DEPLOYMENT_SCALE,
    columns: [
      column(
        'Ready',
        (object) => `${number('.status.readyReplicas')(object)}/${number('.spec.replicas')(object)}`,
      ),
      column('Up-to-date', number('.status.updatedReplicas')),
      column('Available', number('.status.availableReplicas')),
    ],
  }),
  define('apps/v1', 'ControllerRevision', 'controllerrevisions', {
    columns: [column('Revision', number('.revision'))],
  }),
  define('apps/v1', 'ReplicaSet', 'replicasets', { hasStatus: true, shortNames: ['rs'] }),
  define('batch/v1', 'Job', 'jobs', { hasStatus: true }),
  define('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  define('networking.k8s.io/v1', 'Ingress', 'ingresses', {
    hasStatus: true,
    shortNames: ['ing'],
    columns: [column('Class', '.spec.ingressClassName')],
  }),
  define('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', { namespaced: false }),
  define('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', { shortNames: ['netpol'] }),
  define('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes', { hasStatus: true }),
  define('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
    hasStatus: true,
    shortNames: ['pdb'],
  }),
  define('coordination.k8s.io/v1', 'Lease', 'leases', {
    columns: [column('Holder', '.spec.holderIdentity')],
  }),
];
