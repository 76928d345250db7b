/** What the operator keeps in memory of each kind: at 5,000 deployments every kilobyte of one counts. */
import type { V1Deployment, V1EndpointSlice, V1Pod, V1Service } from '@kubernetes/client-node';
import { FIELD_MANAGER, STATUS_FIELD_MANAGER } from '../../api/names.ts';
import type { KubeObject, Wire } from '../../kube/object.ts';
import { SharedFields } from '../../kube/shared-fields.ts';

const fields = new SharedFields([FIELD_MANAGER, STATUS_FIELD_MANAGER]);

/** Everything but who else owns which field. */
export const trimManagers = <T extends KubeObject>(object: T): T => fields.trim(object);

/** Of most children only whose they are and what was applied; what others made of them is the applier's to see. */
export function trimToMetadata<T extends KubeObject>(object: T): T {
  const { apiVersion, kind, metadata } = object;
  return fields.trim({ apiVersion, kind, metadata } as T);
}

/** The pods' template is kept as an annotation already. */
export function trimDeployment(deployment: Wire<V1Deployment>): Wire<V1Deployment> {
  const { replicas, strategy } = deployment.spec ?? {};
  return fields.trim({ ...deployment, spec: { replicas, strategy } as V1Deployment['spec'] });
}

export function trimService(service: Wire<V1Service>): Wire<V1Service> {
  const { ipFamilies, ports } = service.spec ?? {};
  return fields.trim({ ...service, status: undefined, spec: { ipFamilies, ports } });
}

/** The front's endpoints are the same in the slices of all deployments, so these share one list of each content. */
const endpointLists = new Map<string, V1EndpointSlice['endpoints']>();
const MAX_ENDPOINT_LISTS = 1_000;

export function trimSlice(slice: Wire<V1EndpointSlice>): Wire<V1EndpointSlice> {
  const { addressType } = slice;
  // The API server writes null where there are none.
  const endpoints = slice.endpoints ?? [];
  const content = JSON.stringify(endpoints);
  if (endpointLists.size >= MAX_ENDPOINT_LISTS) endpointLists.clear();
  if (!endpointLists.has(content)) endpointLists.set(content, endpoints);
  return { ...trimToMetadata(slice), addressType, endpoints: endpointLists.get(content)! };
}

/** Of a pod's spec only the node and the images are read. */
export function trimPod(pod: Wire<V1Pod>): Wire<V1Pod> {
  const images = (containers: { name: string; image?: string }[] | undefined) =>
    containers?.map(({ name, image }) => ({ name, image }));
  const spec = {
    nodeName: pod.spec?.nodeName,
    containers: images(pod.spec?.containers) ?? [],
    initContainers: images(pod.spec?.initContainers),
  };
  return { ...pod, spec, metadata: { ...pod.metadata, managedFields: undefined } };
}
