/**
 * Server-side apply that never takes over foreign objects and skips unchanged ones: of owned objects, and of the status by a
 * field manager of its own.
 */
import { hash as digest } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { isConflict, isNotFound } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Log, silentLog } from './log.ts';
import { isAsApplied, ownedFields, ownsAll } from './managed-fields.ts';
import {
  controllerOf,
  controllerReference,
  isStub,
  type KubeObject,
  type ObjectMeta,
  objectKey,
  stableStringify,
} from './object.ts';
import { BY_CONTROLLER, type ObjectCache } from './object-cache.ts';
import type { Resource } from './resource.ts';

/** The object exists and belongs to someone else: nothing was written. */
export class NotOwnedError extends Error {
  override readonly name = 'NotOwnedError';
  readonly object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

  constructor(object: KubeObject, owner: KubeObject) {
    const controller = controllerOf(object);
    const whose = controller ? `is controlled by ${controller.kind} ${controller.name}` : 'has no controller';
    super(
      `${object.kind} ${objectKey(object)} ${whose}, but ${owner.kind} ${owner.metadata.name} needs this name: rename or delete it`,
    );
    this.object = object;
  }
}

export type ApplyOutcome = 'created' | 'updated' | 'unchanged' | 'deleted';

export interface AppliedChange {
  outcome: ApplyOutcome;
  object: KubeObject;
}

/** A resource that the applier writes, with the cache that watches it, if one does. */
export interface AppliedResource {
  resource: Resource;
  /** Without a cache the live object is read before each apply; with one, only an object that it does not know but exists. */
  cache?: ObjectCache;
}

export interface ApplierOptions {
  client: Pick<KubeClient, 'apply' | 'find' | 'delete'>;
  fieldManager: string;
  /** Annotation that carries the hash of what was last applied. */
  hashAnnotation: string;
  resources: readonly AppliedResource[];
  log?: Log;
}

export interface ApplyCall {
  signal?: AbortSignal;
}

/** Input and result of the last apply of an object; kept in memory only. */
interface Applied {
  hash: string;
  /** Version of the live object that it was decided on, which the cache may still show. */
  basis: string | undefined;
  result: string | undefined;
  fields: string;
}

/** No stored object has this version: an apply with it creates an object, and conflicts with one that exists. */
const NEVER_STORED = '1';

/** Forgetting one costs a write that changes nothing. */
const MAX_REMEMBERED = 20_000;

export type Applier = ReturnType<typeof createApplier>;

export function createApplier({
  client,
  fieldManager,
  hashAnnotation,
  resources,
  log = silentLog,
}: ApplierOptions) {
  const byKind = new Map(resources.map((applied) => [kindOf(applied.resource), applied]));
  /** By uid. */
  const memory = new LRUCache<string, Applied>({ max: MAX_REMEMBERED });

  function entryOf(object: KubeObject): AppliedResource {
    const entry = byKind.get(kindOf(object));
    if (!entry) throw new Error(`no resource is registered with the applier for ${kindOf(object)}`);
    return entry;
  }

  /** Fields that an older version applied and this one does not are released, and so removed. */
  function isAsWanted(wanted: KubeObject, hash: string, live: KubeObject): boolean {
    const { uid = '', resourceVersion, annotations } = live.metadata;
    const last = memory.get(uid);
    if (last?.hash === hash && (last.basis === resourceVersion || last.result === resourceVersion))
      return true;
    if (annotations?.[hashAnnotation] !== hash) return false;
    const owned = ownedFields(live, fieldManager);
    // The API server may drop a field (of a disabled feature): then what it kept last time counts as equal.
    return last?.hash === hash && last.fields === hashOf(owned)
      ? true
      : ownsAll(withoutIdentity(wanted), owned);
  }

  /** Applies `object` as a child of `owner`; throws `NotOwnedError`. */
  async function apply(
    object: KubeObject,
    owner: KubeObject,
    { signal }: ApplyCall = {},
  ): Promise<AppliedChange> {
    const { resource, cache } = entryOf(object);
    const wanted = withOwner(object, owner);
    const known = cache?.get(objectKey(wanted));
    if (known) return applyTo(known, wanted, owner, signal);
    if (cache)
      try {
        return await write(wanted, owner, {
          hash: hashOf(wanted),
          guard: { resourceVersion: NEVER_STORED },
          signal,
        });
      } catch (error) {
        // It exists: the cache is stale, or shows nothing of others' objects.
        if (!isConflict(error)) throw error;
      }
    return applyTo(await client.find(resource, wanted.metadata, { signal }), wanted, owner, signal);
  }

  async function applyTo(
    live: KubeObject | undefined,
    wanted: KubeObject,
    owner: KubeObject,
    signal: AbortSignal | undefined,
  ): Promise<AppliedChange> {
    if (live && controllerOf(live)?.uid !== owner.metadata.uid) throw new NotOwnedError(live, owner);
    const hash = hashOf(wanted);
    if (live && isAsWanted(wanted, hash, live)) return { outcome: 'unchanged', object: live };
    // The uid makes it fail if the object was recreated since it was read.
    const guard = live ? { uid: live.metadata.uid } : {};
    return write(wanted, owner, { hash, live, guard, signal });
  }

  async function write(
    wanted: KubeObject,
    owner: KubeObject,
    {
      hash,
      live,
      guard,
      signal,
    }: ApplyCall & { hash: string; live?: KubeObject; guard: Partial<ObjectMeta> },
  ): Promise<AppliedChange> {
    const annotations = { ...wanted.metadata.annotations, [hashAnnotation]: hash };
    const guarded = { ...wanted, metadata: { ...wanted.metadata, annotations, ...guard } };
    const { resource } = entryOf(wanted);
    const result = await client.apply(resource, guarded, { fieldManager, force: true, signal });
    memory.set(result.metadata.uid!, {
      hash,
      basis: live?.metadata.resourceVersion,
      result: result.metadata.resourceVersion,
      fields: hashOf(ownedFields(result, fieldManager)),
    });
    const outcome = outcomeOf(live, result);
    if (outcome !== 'unchanged') log.info(describeWrite(wanted, owner), `object ${outcome}`);
    return { outcome, object: result };
  }

  /** Deletes an object if the owner controls it; a missing one is not an error. */
  async function remove(
    object: KubeObject,
    owner: KubeObject,
    { signal }: ApplyCall = {},
  ): Promise<AppliedChange> {
    if (controllerOf(object)?.uid !== owner.metadata.uid) throw new NotOwnedError(object, owner);
    const { uid } = object.metadata;
    await client.delete(entryOf(object).resource, object.metadata, { uid, signal }).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
    memory.delete(uid!);
    return { outcome: 'deleted', object };
  }

  /** Applies these at once; throws the first error, once all have ended. */
  async function applyAll(
    wanted: readonly KubeObject[],
    owner: KubeObject,
    call: ApplyCall = {},
  ): Promise<AppliedChange[]> {
    const results = await Promise.allSettled(wanted.map((object) => apply(object, owner, call)));
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  /** Deletes the owner's other objects that the caches know. */
  async function removeOthers(
    wanted: readonly KubeObject[],
    owner: KubeObject,
    call: ApplyCall = {},
  ): Promise<AppliedChange[]> {
    const kept = new Set(wanted.map((object) => `${kindOf(object)} ${objectKey(withOwner(object, owner))}`));
    const others = resources
      .flatMap(({ cache }) => cache?.byIndex(BY_CONTROLLER, owner.metadata.uid!) ?? [])
      .filter(
        (child) => !kept.has(`${kindOf(child)} ${objectKey(child)}`) && !child.metadata.deletionTimestamp,
      );
    return Promise.all(others.map((child) => remove(child, owner, call)));
  }

  return {
    apply,
    remove,
    applyAll,
    removeOthers,
  };
}

const kindOf = ({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>) => `${apiVersion} ${kind}`;

function withOwner(object: KubeObject, owner: KubeObject): KubeObject {
  const { namespace = owner.metadata.namespace, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, namespace, ownerReferences: [controllerReference(owner)] } };
}

/** Identifying fields have no owner. */
function withoutIdentity({ apiVersion, kind, metadata, ...rest }: KubeObject): object {
  const { name, namespace, ...owned } = metadata;
  return { ...rest, metadata: owned };
}

const describeWrite = ({ kind, metadata: { namespace, name } }: KubeObject, owner: KubeObject) => ({
  audit: true,
  kind,
  namespace,
  name,
  owner: `${owner.kind} ${objectKey(owner)}`,
});

const hashOf = (value: unknown): string => digest('sha256', stableStringify(value), 'hex').slice(0, 32);

function outcomeOf(live: KubeObject | undefined, result: KubeObject): ApplyOutcome {
  if (!live) return 'created';
  return live.metadata.resourceVersion === result.metadata.resourceVersion ? 'unchanged' : 'updated';
}

export interface StatusWriterOptions {
  client: Pick<KubeClient, 'apply'>;
  fieldManager: string;
}

export interface StatusCall {
  signal?: AbortSignal;
}

export type StatusWriter = ReturnType<typeof createStatusWriter>;

/**
 * A writer whose manager owns exactly the fields of the last status it wrote: a field left out is removed, one that
 * another manager wrote stays.
 */
export function createStatusWriter({ client, fieldManager }: StatusWriterOptions) {
  return {
    /**
     * Writes `status` onto the object and returns whether that was needed; `live` is its cached state, of which a stub does
     * not show who owns what.
     */
    async write(
      resource: Resource,
      live: KubeObject,
      { status, signal }: StatusCall & { status: object },
    ): Promise<boolean> {
      const wanted = JSON.parse(JSON.stringify(status)) as object;
      const owned = ownedFields(live, fieldManager, 'status')?.['f:status'];
      if (isStub(live) ? isDeepStrictEqual(wanted, live.status) : isAsApplied(wanted, live.status, owned))
        return false;
      const { apiVersion, kind, metadata } = live;
      const { name, namespace, uid } = metadata;
      const patch: KubeObject = { apiVersion, kind, metadata: { name, namespace, uid }, status: wanted };
      const result = await client.apply(resource, patch, {
        fieldManager,
        force: true,
        subresource: 'status',
        signal,
      });
      return result.metadata.resourceVersion !== metadata.resourceVersion;
    },
  };
}
