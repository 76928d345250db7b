/** Kubernetes objects as they are on the wire: times are strings, never dates. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  subresource?: string;
  fieldsV1?: unknown;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** Whether it is kept in outline alone, with the reason as its spec. */
export const isStub = ({ spec }: KubeObject): boolean => typeof spec === 'string';

/** The key of an object within its resource: `namespace/name`, or `name` where it is in no namespace. */
export function objectKey({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** The two halves of a key. */
export function splitKey(key: string): { namespace?: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The reference that makes `owner` the controller of another object. */
export function controllerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  if (!metadata.uid) throw new Error(`${kind} ${objectKey(owner)} has no uid, so it cannot own anything yet`);
  return {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The reference of the object's controller, if it has one. */
export function controllerOf(object: Pick<KubeObject, 'metadata'>): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller);
}

/** `a=b,c=d`, as list calls take it. */
export function formatSelector(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** Whether the object carries all of these labels. */
export function matchesLabels(object: Pick<KubeObject, 'metadata'>, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([name, value]) => object.metadata.labels?.[name] === value);
}

/** Whether resource version `a` is later than `b`; versions that are no numbers count as later when they differ. */
export function isLaterVersion(a: string | undefined, b: string | undefined): boolean {
  if (a === b || a === undefined) return false;
  if (b === undefined) return true;
  return /^\d+$/.test(a) && /^\d+$/.test(b) ? BigInt(a) > BigInt(b) : true;
}
