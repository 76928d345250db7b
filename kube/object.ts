/** Kubernetes objects as transmitted: times are strings, never dates. */
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
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: unknown;
  subresource?: string;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
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

/** A typed view of an object as transmitted, with times as strings. */
export type Wire<T> = KubeObject & Omit<T, 'metadata' | 'apiVersion' | 'kind'>;

export type Fields = Record<string, unknown>;

/** Whether only a stub of it is kept, with the reason as its spec. */
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

/** Whether resource version `a` is later than `b`; versions that are no numbers count as later when they differ. */
export function isLaterVersion(a: string | undefined, b: string | undefined): boolean {
  if (a === b || a === undefined) return false;
  if (b === undefined) return true;
  return isNumber(a) && isNumber(b) ? BigInt(a) > BigInt(b) : true;
}

/** Whether `a` is certainly an older state of the same object as `b` than `b` is; versions must be numbers to be compared. */
export function isOlderState(a: KubeObject, b: KubeObject): boolean {
  const [first = '', second = ''] = [a, b].map(({ metadata }) => metadata.resourceVersion);
  return (
    a.metadata.uid === b.metadata.uid && [first, second].every(isNumber) && BigInt(first) < BigInt(second)
  );
}

const isNumber = (version: string) => /^\d+$/.test(version);

/** JSON with sorted keys: equal for equal values. */
export const stableStringify = (value: unknown): string => JSON.stringify(sortKeys(value)) ?? '';

function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  // Without a prototype any key is a plain one.
  const sorted: Fields = Object.create(null);
  for (const name of Object.keys(value).sort()) sorted[name] = sortKeys((value as Fields)[name]);
  return sorted;
}
