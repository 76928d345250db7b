/** A cluster in memory, whose watches lag behind at random, so that one process can play thousands of histories. */
import { isDeepStrictEqual } from 'node:util';
import { KubeApiError } from '../../../kube/api-error.ts';
import type { ListOptions, ObjectName, WatchOptions } from '../../../kube/call.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { type KubeObject, objectKey } from '../../../kube/object.ts';
import type { Resource } from '../../../kube/resource.ts';
import type { WatchEvent } from '../../../kube/watch-stream.ts';

type Store = Map<string, KubeObject>;
type Listener = (event: WatchEvent<KubeObject>) => void;

const refuse = (code: number, reason: string) =>
  new KubeApiError({ code, reason, call: 'memory' }, 'refused');

export class MemoryCluster {
  readonly #stores = new Map<string, Store>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #random: () => number;
  #version = 1;
  /** Events that some watch has not shown yet. */
  pending = 0;
  /** Longest lag of a call and of an event. */
  lagMs = 15;

  constructor(random: () => number) {
    this.#random = random;
  }

  store(resource: Pick<Resource, 'plural'>): Store {
    const store = this.#stores.get(resource.plural) ?? new Map();
    this.#stores.set(resource.plural, store);
    return store;
  }

  /** As somebody else does it: at once, with the same rules. */
  put(resource: Resource, object: KubeObject): KubeObject {
    const store = this.store(resource);
    const key = objectKey(object);
    const before = store.get(key);
    const { resourceVersion: _, ...metadata } = object.metadata;
    const same =
      before &&
      isDeepStrictEqual(
        { ...before, metadata: { ...before.metadata, resourceVersion: undefined } },
        { ...object, metadata: { ...metadata, resourceVersion: undefined } },
      );
    if (same) return before;
    const stored = structuredClone({
      ...object,
      metadata: {
        uid: before?.metadata.uid ?? crypto.randomUUID(),
        creationTimestamp: before?.metadata.creationTimestamp ?? new Date().toISOString(),
        ...metadata,
        generation:
          (before?.metadata.generation ?? 0) + Number(!isDeepStrictEqual(before?.spec, object.spec)),
        resourceVersion: String(++this.#version),
      },
    });
    if (stored.metadata.deletionTimestamp !== undefined && !stored.metadata.finalizers?.length) {
      store.delete(key);
      this.#emit(resource, 'DELETED', stored);
    } else {
      store.set(key, stored);
      this.#emit(resource, before ? 'MODIFIED' : 'ADDED', stored);
    }
    return structuredClone(stored);
  }

  delete(resource: Resource, key: string): void {
    const live = this.store(resource).get(key);
    if (!live || live.metadata.deletionTimestamp !== undefined) return;
    const deletionTimestamp = new Date().toISOString();
    this.put(resource, { ...live, metadata: { ...live.metadata, deletionTimestamp } });
  }

  /** The garbage collector: deletes what belongs to an object that is gone. */
  collectOrphans(): void {
    const uids = new Set(
      [...this.#stores.values()].flatMap((store) => [...store.values()].map(({ metadata }) => metadata.uid)),
    );
    for (const [plural, store] of this.#stores)
      for (const [key, { metadata }] of store)
        if (metadata.ownerReferences?.some((owner) => !uids.has(owner.uid)))
          this.delete({ plural } as Resource, key);
  }

  #emit(resource: Pick<Resource, 'plural'>, type: WatchEvent<KubeObject>['type'], object: KubeObject): void {
    for (const listener of this.#listeners.get(resource.plural) ?? []) listener({ type, object });
  }

  #lag = (): number => this.#random() * this.lagMs;
  #delay = () => new Promise((resolve) => setTimeout(resolve, this.#lag()));

  async *#watch(resource: Resource, { namespace, labelSelector, resourceVersion, signal }: WatchOptions) {
    const queue: WatchEvent<KubeObject>[] = [];
    let wake = () => {};
    let undelivered = 0;
    const isSelected = selects(namespace, labelSelector);
    const listener: Listener = (event) => {
      if (!isSelected(event.object)) return;
      this.pending++;
      undelivered++;
      queue.push(structuredClone(event));
      wake();
    };
    // What came between the list and this watch.
    for (const object of this.store(resource).values())
      if (Number(object.metadata.resourceVersion) > Number(resourceVersion))
        listener({ type: 'ADDED', object });
    const listeners = this.#listeners.get(resource.plural) ?? new Set();
    this.#listeners.set(resource.plural, listeners.add(listener));
    signal.addEventListener('abort', () => wake());
    try {
      while (!signal.aborted) {
        const event = queue.shift();
        if (event === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        await this.#delay();
        yield event;
        this.pending--;
        undelivered--;
      }
    } finally {
      // A watch that was ended delivers nothing more.
      this.pending -= undelivered;
      listeners.delete(listener);
    }
  }

  #find(resource: Resource, at: ObjectName): KubeObject | undefined {
    return structuredClone(this.store(resource).get(objectKey({ metadata: at })));
  }

  #patch(resource: Resource, at: ObjectName, patch: KubeObject): KubeObject {
    const live = this.store(resource).get(objectKey({ metadata: at }));
    if (!live) throw refuse(404, 'NotFound');
    const { uid, resourceVersion } = patch.metadata ?? {};
    if (uid !== undefined && uid !== live.metadata.uid) throw refuse(409, 'Conflict');
    if (resourceVersion !== undefined && resourceVersion !== live.metadata.resourceVersion)
      throw refuse(409, 'Conflict');
    return this.put(resource, { ...live, ...patch, metadata: { ...live.metadata, ...patch.metadata } });
  }

  /** The calls that the operator makes, each of which takes its time before and after. */
  get client(): KubeClient {
    const call = async <T>(act: () => T): Promise<T> => {
      await this.#delay();
      const result = act();
      await this.#delay();
      return result;
    };
    const client = {
      get: (resource: Resource, at: ObjectName) =>
        call(() => {
          if (resource.plural === 'namespaces')
            return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: at.name } };
          const found = this.#find(resource, at);
          if (!found) throw refuse(404, 'NotFound');
          return found;
        }),
      find: (resource: Resource, at: ObjectName) => call(() => this.#find(resource, at)),
      list: async (resource: Resource, { namespace, labelSelector }: ListOptions = {}) => ({
        items: structuredClone([...this.store(resource).values()].filter(selects(namespace, labelSelector))),
        metadata: { resourceVersion: String(this.#version) },
      }),
      watch: (resource: Resource, options: WatchOptions) => this.#watch(resource, options),
      create: (resource: Resource, object: KubeObject) =>
        call(() => {
          if (this.store(resource).has(objectKey(object))) throw refuse(409, 'AlreadyExists');
          return this.put(resource, object);
        }),
      update: (resource: Resource, object: KubeObject) =>
        call(() => this.#patch(resource, object.metadata, object)),
      mergePatch: (resource: Resource, { at, patch }: { at: ObjectName; patch: object }) =>
        call(() => this.#patch(resource, at, patch as KubeObject)),
      apply: (resource: Resource, object: KubeObject, { subresource }: { subresource?: string }) =>
        call(() => {
          const exists = this.store(resource).has(objectKey(object));
          // An apply with the uid of one that is gone never creates it again.
          if (!exists && object.metadata.uid !== undefined) throw refuse(409, 'Conflict');
          if (exists) return this.#patch(resource, object.metadata, object);
          if (subresource) throw refuse(404, 'NotFound');
          return this.put(resource, object);
        }),
      delete: (resource: Resource, at: ObjectName, { uid }: { uid?: string } = {}) =>
        call(() => {
          const live = this.store(resource).get(objectKey({ metadata: at }));
          if (!live) throw refuse(404, 'NotFound');
          if (uid !== undefined && live.metadata.uid !== uid) throw refuse(409, 'Conflict');
          this.delete(resource, objectKey({ metadata: at }));
        }),
      close: async () => {},
    };
    return client as unknown as KubeClient;
  }
}

function selects(namespace: string | undefined, labelSelector: string | undefined) {
  const wanted = (labelSelector ?? '').split(',').filter((term) => term !== '');
  return ({ metadata }: KubeObject): boolean => {
    if (namespace !== undefined && metadata.namespace !== namespace) return false;
    return wanted.every((term) => {
      const [label = '', value] = term.split('=');
      const present = metadata.labels?.[label];
      return value === undefined ? present !== undefined : present === value;
    });
  };
}
