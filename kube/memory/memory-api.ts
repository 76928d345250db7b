/** Kubernetes' API to objects in memory, with the rules that controllers and kubectl rely on. */

import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import type { KubeObject, ObjectMeta } from '../object.ts';
import { formatTime } from '../time.ts';
import { type DeleteOptions, deleteObject } from './deletion.ts';
import { MemoryStore } from './object-store.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from './patches.ts';
import { groupVersion, listTypesOf, type ResourceType, readAs, storeKey, typeKey } from './resource-type.ts';
import { fillDefaults, prune } from './schema.ts';
import { applyObject, type FieldWriter, recordUpdate } from './server-side-apply.ts';
import { badRequest, conflict, invalid, notFound, type StatusCause, StatusError } from './status-error.ts';
import { completeSecret, contentOf, isSame, requirePlace, takePart, validateName } from './write-rules.ts';

export interface Place {
  namespace?: string | undefined;
  name: string;
}

export interface WriteOptions {
  manager?: string | undefined;
  subresource?: string | undefined;
  dryRun?: boolean;
  /** Reject unknown fields instead of pruning them. */
  strict?: boolean;
}

export type PatchType = 'apply' | 'merge' | 'json' | 'strategic';

export interface PatchOptions extends WriteOptions {
  type: PatchType;
  force?: boolean;
}

/** Errors of an object of Kubernetes' own kinds, which have no schema here; empty if it may be written. */
export type Validator = (type: ResourceType, object: KubeObject) => StatusCause[];

/** Warnings for the author of a valid object; ASCII. */
export type Warner = (type: ResourceType, object: KubeObject) => string[];

export interface MemoryApiOptions {
  types: readonly ResourceType[];
  validate?: Validator;
  warn?: Warner;
  now?: () => Date;
}

export class MemoryApi {
  readonly store = new MemoryStore();
  readonly types: readonly ResourceType[];
  readonly #byKey: ReadonlyMap<string, ResourceType>;
  readonly #validate: Validator;
  readonly now: () => Date;
  readonly warn: Warner;

  constructor({ types, validate = () => [], warn = () => [], now = () => new Date() }: MemoryApiOptions) {
    this.types = types;
    this.#byKey = new Map(types.map((type) => [typeKey(type), type]));
    this.#validate = validate;
    this.warn = warn;
    this.now = now;
  }

  /** By `plural` or `plural.group`. */
  type(key: string): ResourceType {
    const type = this.#byKey.get(key);
    if (!type) throw new Error(`the memory API server has no resource ${key}`);
    return type;
  }

  find(key: string, { namespace, name }: Place): KubeObject | undefined {
    const type = this.type(key);
    const stored = this.store.find(storeKey(type), namespace, name);
    return stored && readAs(type, stored);
  }

  /** Throws StatusError 404. */
  get(key: string, at: Place): KubeObject {
    const object = this.find(key, at);
    if (!object) throw notFound(key, at.name);
    return object;
  }

  list(key: string, namespace?: string): KubeObject[] {
    const type = this.type(key);
    return this.store.list(storeKey(type), namespace).map((object) => readAs(type, object));
  }

  create(key: string, object: KubeObject, options: WriteOptions = {}): KubeObject {
    const type = this.type(key);
    const { generateName, name = generateName && generateName + randomBytes(4).toString('hex').slice(0, 5) } =
      object.metadata;
    const named = { ...object, metadata: { ...object.metadata, name: name as string } };
    if (typeof name === 'string' && this.find(key, { namespace: named.metadata.namespace, name }))
      throw new StatusError(409, 'AlreadyExists', `${key} "${name}" already exists`);
    if (type.namespaced) this.#requireNamespace(named.metadata.namespace);
    const { uid: _, resourceVersion: __, generation: ___, ...metadata } = named.metadata;
    const { status: _status, ...rest } = named as KubeObject;
    const content = type.hasStatus ? rest : named;
    return this.#write(type, undefined, { ...content, metadata } as KubeObject, options);
  }

  /** Replaces an object, or its status. Throws StatusError 404, and 409 for an old version. */
  update(key: string, object: KubeObject, options: WriteOptions = {}): KubeObject {
    const before = this.get(key, object.metadata);
    return this.#write(this.type(key), before, object, options);
  }

  patch(key: string, at: Place, patch: unknown, options: PatchOptions): KubeObject {
    const type = this.type(key);
    const types = listTypesOf(type);
    const before = this.find(key, at);
    if (options.type === 'apply') return this.#apply(type, at, patch, options);
    if (!before) throw notFound(key, at.name);
    const wanted =
      options.type === 'merge'
        ? mergePatch(before, patch)
        : options.type === 'json'
          ? jsonPatch(before, patch)
          : strategicMergePatch(before, patch, types);
    return this.#write(type, before, wanted as KubeObject, options);
  }

  #apply(type: ResourceType, at: Place, patch: unknown, options: PatchOptions): KubeObject {
    if (!isObject(patch)) throw badRequest('an apply must be an object');
    const { manager = 'unknown', subresource, force = false } = options;
    const before = this.find(typeKey(type), at);
    const given = (patch.metadata ?? {}) as Partial<ObjectMeta>;
    if (given.managedFields?.length) throw badRequest('metadata.managedFields must be nil');
    const uid = before?.metadata.uid;
    if (given.uid !== undefined && given.uid !== uid)
      throw conflict(
        `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${uid ?? ''}`,
      );
    if (!before && subresource) throw notFound(typeKey(type), at.name);
    if (!before && type.namespaced) this.#requireNamespace(at.namespace);
    const wanted = { ...patch, metadata: { ...given, ...at } } as KubeObject;
    this.#requireKnown(type, wanted, options);
    const writer = { manager, subresource };
    const result = applyObject({
      live: before,
      wanted,
      writer,
      force,
      types: listTypesOf(type),
      now: this.now(),
    });
    const { managedFields } = result.metadata;
    return this.#write(type, before, result, { ...options, books: managedFields });
  }

  /** Throws StatusError 404, and 409 for another uid. Returns the object if it is not gone yet. */
  delete(key: string, at: Place, options: DeleteOptions = {}): KubeObject | undefined {
    const type = this.type(key);
    const live = this.store.find(storeKey(type), at.namespace, at.name);
    if (!live) throw notFound(key, at.name);
    const { uid, resourceVersion } = live.metadata;
    if (options.uid !== undefined && options.uid !== uid)
      throw conflict(`Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`);
    if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion)
      throw conflict(`Precondition failed: ResourceVersion in object meta: ${resourceVersion}`);
    if (options.dryRun) return undefined;
    return deleteObject(this, type, live, options);
  }

  #write(
    type: ResourceType,
    before: KubeObject | undefined,
    wanted: KubeObject,
    options: WriteOptions & { books?: ObjectMeta['managedFields'] },
  ): KubeObject {
    const { subresource, manager = 'unknown', dryRun, books } = options;
    requirePlace(type, wanted, before);
    const part = takePart(type, before, wanted, subresource);
    const object = this.#complete(type, before, part, options);
    const writer: FieldWriter = { manager, ...(subresource ? { subresource } : {}) };
    const managedFields =
      books ?? recordUpdate(before, object, { writer, types: listTypesOf(type), now: this.now() });
    const full = { ...object, metadata: { ...object.metadata, managedFields } };
    if (before && isSame(before, full)) return before;
    if (dryRun) return full;
    const stored = type.view ? type.view.write(full) : full;
    const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds: grace = 0 } = stored.metadata;
    if (deletionTimestamp && finalizers.length === 0 && grace === 0)
      return readAs(type, this.store.remove(storeKey(type), stored));
    return readAs(type, this.store.put(storeKey(type), stored));
  }

  /** With defaults and metadata as the API server fills them in. Throws StatusError 422 for what is wrong. */
  #complete(
    type: ResourceType,
    before: KubeObject | undefined,
    part: KubeObject,
    options: WriteOptions,
  ): KubeObject {
    const known = this.#requireKnown(type, part, options);
    const full = completeSecret(type, fillDefaults(known, type.schema) as KubeObject);
    const { uid, creationTimestamp, deletionTimestamp, generation = 0 } = before?.metadata ?? {};
    const isNew = !before || !isDeepStrictEqual(contentOf(before), contentOf(full));
    const metadata: ObjectMeta = {
      ...full.metadata,
      uid: uid ?? randomUUID(),
      creationTimestamp: creationTimestamp ?? formatTime(this.now()),
      generation: generation + (isNew ? 1 : 0),
      ...(deletionTimestamp ? { deletionTimestamp } : {}),
    };
    const object = { ...full, apiVersion: groupVersion(type), kind: type.kind, metadata };
    this.#requireValid(type, object, before, options.subresource);
    return object;
  }

  #requireKnown(type: ResourceType, object: KubeObject, { strict }: WriteOptions): KubeObject {
    if (!type.schema) return object;
    const unknown: string[] = [];
    const pruned = prune(object, type.schema, unknown) as KubeObject;
    if (strict && unknown.length > 0)
      throw badRequest(
        `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`,
      );
    return pruned;
  }

  #requireValid(
    type: ResourceType,
    object: KubeObject,
    before: KubeObject | undefined,
    subresource: string | undefined,
  ): void {
    const causes = type.validate?.(object, before, subresource) ?? [];
    if (subresource !== 'status') causes.push(...this.#validate(type, object));
    // As in the API server, other errors say more.
    if (causes.length === 0 && !before) causes.push(...validateName(object.metadata.name));
    if (causes.length > 0) throw invalid(type, object.metadata.name ?? '', causes);
  }

  #requireNamespace(namespace: string | undefined): void {
    if (!namespace || !this.store.find('namespaces', undefined, namespace))
      throw notFound('namespaces', namespace ?? '');
  }
}
