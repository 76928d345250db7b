/** Limits how much of the operator's memory one namespace's objects take. */
import { getHeapStatistics } from 'node:v8';
import { FINALIZER, LABELS } from '../../api/names.ts';
import { isStub, type KubeObject, objectKey } from '../../kube/object.ts';
import { measureCost } from '../../kube/object-cost.ts';

/** Limit of one received object; a ModelDeployment has some 5 KiB. */
const MAX_OBJECT_BYTES = 512 * 1024;
/** Share of the heap for all kept objects. */
const HEAP_SHARE = 0.6;
/** A namespace may use this multiple of what is free, so that none takes all; slightly more for stubs of what does not fit. */
const NAMESPACE_SHARE = 2;
const STUB_SHARE = 3;
/** Overhead per object in maps, indexes and queues, and the parsed copy of one of Berth's own (many-objects.test.ts). */
const INDEX_BYTES = 384;
const PARSED_BYTES: Readonly<Record<string, number>> = {
  ModelDeployment: 2_720,
  APIKey: 640,
  StorageCredential: 1_024,
  WebhookEndpoint: 640,
};
const MAX_FIELDS_BYTES = 48 * 1024;
const MAX_STATUS_BYTES = 64 * 1024;
/** Kept of a dropped object: its finalizers, which other controllers wait for, and its owners. */
const MAX_FINALIZERS_BYTES = 4 * 1024;
const MAX_REFERENCE_BYTES = 1024;
const MAX_REFERENCES = 4;

const TOO_LARGE = `the object is larger than ${MAX_OBJECT_BYTES / 1024} KiB or nested too deeply`;
const TOO_MANY =
  "the objects in this namespace together exceed the operator's memory budget: make them smaller or fewer, then update this one";

export class ObjectBudget {
  readonly #bytes: number;
  readonly #objects = new Map<string, number>();
  readonly #namespaces = new Map<string, number>();
  #taken = 0;

  /** `bytes`: of all objects; a part of the heap if absent. */
  constructor(bytes = getHeapStatistics().heap_size_limit * HEAP_SHARE) {
    this.#bytes = bytes;
  }

  /**
   * What `trim` keeps of the object; for one that is too large or over budget a stub, with the reason as spec.
   * Undefined for a new one if not even the stub fits: nothing is kept of it.
   */
  admit<T extends KubeObject>(object: T, trim: (object: T) => T): T | undefined {
    const { managedFields, ...metadata } = object.metadata;
    const isLarge = measureCost({ ...object, metadata }, MAX_OBJECT_BYTES) > MAX_OBJECT_BYTES;
    // Anybody can write as the operator's field manager.
    const fields = managedFields?.filter(
      ({ fieldsV1 }) => measureCost(fieldsV1, MAX_FIELDS_BYTES) <= MAX_FIELDS_BYTES,
    );
    const trimmed = isLarge
      ? stubOf(object, TOO_LARGE)
      : trim({ ...object, metadata: { ...object.metadata, managedFields: fields } });
    const isKnown = this.#objects.has(nameOf(object));
    if (this.#take(trimmed, NAMESPACE_SHARE)) return trimmed;
    const stub = stubOf(object, TOO_MANY);
    if (!isKnown && !this.#take(stub, STUB_SHARE)) return undefined;
    // Known objects stay in any case, and count against later ones.
    this.#set(stub, costOf(stub));
    return stub;
  }

  /** Releases a deleted object. */
  release(object: KubeObject): void {
    this.#set(object, 0);
  }

  /** False if over budget; kept objects may always shrink. */
  #take(object: KubeObject, share: number): boolean {
    const bytes = costOf(object);
    const before = this.#objects.get(nameOf(object)) ?? 0;
    this.#set(object, 0);
    const namespace = this.#namespaces.get(object.metadata.namespace ?? '') ?? 0;
    if (bytes > before && namespace + bytes > share * (this.#bytes - this.#taken - bytes)) return false;
    this.#set(object, bytes);
    return true;
  }

  #set(object: KubeObject, bytes: number): void {
    const name = nameOf(object);
    const { namespace = '' } = object.metadata;
    const change = bytes - (this.#objects.get(name) ?? 0);
    if (bytes === 0) this.#objects.delete(name);
    else this.#objects.set(name, bytes);
    const taken = (this.#namespaces.get(namespace) ?? 0) + change;
    if (taken === 0) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, taken);
    this.#taken += change;
  }
}

const nameOf = (object: KubeObject): string => `${object.kind}/${objectKey(object)}`;

function costOf(object: KubeObject): number {
  const { managedFields: _, ...metadata } = object.metadata;
  const own = measureCost({ ...object, metadata }, Number.MAX_SAFE_INTEGER);
  return own + INDEX_BYTES + (isStub(object) ? 0 : (PARSED_BYTES[object.kind] ?? 0));
}

function stubOf<T extends KubeObject>(object: T, reason: string): T {
  const { apiVersion, kind, metadata } = object;
  const { labels: _labels, annotations: _annotations, managedFields: _fields, ...rest } = metadata;
  const deployment = metadata.labels?.[LABELS.deployment];
  const { status } = object as { status?: unknown };
  return {
    apiVersion,
    kind,
    metadata: {
      ...rest,
      // Removing one writes the rest of the list.
      finalizers:
        measureCost(metadata.finalizers, MAX_FINALIZERS_BYTES) <= MAX_FINALIZERS_BYTES
          ? metadata.finalizers
          : metadata.finalizers?.filter((finalizer) => finalizer === FINALIZER),
      ownerReferences: metadata.ownerReferences
        ?.filter((reference) => measureCost(reference, MAX_REFERENCE_BYTES) <= MAX_REFERENCE_BYTES)
        .slice(0, MAX_REFERENCES),
      ...(deployment !== undefined && { labels: { [LABELS.deployment]: deployment } }),
    },
    spec: reason,
    ...(measureCost(status, MAX_STATUS_BYTES) <= MAX_STATUS_BYTES && { status }),
  } as unknown as T;
}
