/** One kind of object and where the API server keeps it. */
export interface Resource {
  apiVersion: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  /** Lists and watches fetch metadata only: the contents never get into memory unasked. */
  isListedByMetadata?: true;
}

const namespaced = (apiVersion: string, kind: string, plural: string): Resource => ({
  apiVersion,
  kind,
  plural,
  namespaced: true,
});
const clusterWide = (apiVersion: string, kind: string, plural: string): Resource => ({
  apiVersion,
  kind,
  plural,
  namespaced: false,
});

/** Kubernetes' own resources, by kind. */
export const RESOURCES = {
  ConfigMap: namespaced('v1', 'ConfigMap', 'configmaps'),
  ControllerRevision: namespaced('apps/v1', 'ControllerRevision', 'controllerrevisions'),
  Deployment: namespaced('apps/v1', 'Deployment', 'deployments'),
  EndpointSlice: namespaced('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  Event: namespaced('events.k8s.io/v1', 'Event', 'events'),
  HTTPRoute: namespaced('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes'),
  Ingress: namespaced('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  IngressClass: clusterWide('networking.k8s.io/v1', 'IngressClass', 'ingressclasses'),
  Job: namespaced('batch/v1', 'Job', 'jobs'),
  Lease: namespaced('coordination.k8s.io/v1', 'Lease', 'leases'),
  Namespace: clusterWide('v1', 'Namespace', 'namespaces'),
  NetworkPolicy: namespaced('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  Node: clusterWide('v1', 'Node', 'nodes'),
  PersistentVolumeClaim: namespaced('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  Pod: namespaced('v1', 'Pod', 'pods'),
  PodDisruptionBudget: namespaced('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  ReplicaSet: namespaced('apps/v1', 'ReplicaSet', 'replicasets'),
  ResourceClaimTemplate: namespaced('resource.k8s.io/v1', 'ResourceClaimTemplate', 'resourceclaimtemplates'),
  Secret: { ...namespaced('v1', 'Secret', 'secrets'), isListedByMetadata: true },
  Service: namespaced('v1', 'Service', 'services'),
  ServiceAccount: namespaced('v1', 'ServiceAccount', 'serviceaccounts'),
} as const satisfies Record<string, Resource>;

export interface ResourceLocation {
  namespace?: string;
  name?: string;
  subresource?: string;
}

/** The path of a resource, of one object or of its subresource; without a namespace: of all namespaces. */
export function resourcePath(resource: Resource, { namespace, name, subresource }: ResourceLocation): string {
  if (resource.namespaced && name !== undefined && !namespace)
    throw new Error(`${resource.kind} ${name} needs a namespace`);
  const root = resource.apiVersion.includes('/')
    ? `/apis/${resource.apiVersion}`
    : `/api/${resource.apiVersion}`;
  const parts = [
    ...(resource.namespaced && namespace ? ['namespaces', namespace] : []),
    resource.plural,
    ...(name === undefined ? [] : [name]),
    ...(subresource ? [subresource] : []),
  ];
  return `${root}/${parts.map(encodeURIComponent).join('/')}`;
}
