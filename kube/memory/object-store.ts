/** Objects by kind, with a version that increases with every change, and the changes for watches. */
import type { KubeObject } from '../object.ts';

export interface ObjectChange {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Key of the resource. */
  key: string;
  version: number;
  object: KubeObject;
  before: KubeObject | undefined;
}

export type Listener = (change: ObjectChange) => void;

/** Changes from which a watch can resume; a client with an older version has to relist. */
const MAX_HISTORY = 5_000;

const pathOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** Objects in it are immutable: every change stores a new one. */
export class MemoryStore {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Set<Listener>();
  readonly #history: ObjectChange[] = [];
  #forgotten = 0;
  #version = 1;

  get version(): number {
    return this.#version;
  }

  find(key: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(key)?.get(pathOf(namespace, name));
  }

  /** By namespace and name. */
  list(key: string, namespace?: string): KubeObject[] {
    const all = [...(this.#objects.get(key)?.values() ?? [])];
    const found = namespace ? all.filter(({ metadata }) => metadata.namespace === namespace) : all;
    return found.sort((a, b) => {
      const [one, other] = [a, b].map(({ metadata }) => pathOf(metadata.namespace, metadata.name));
      return one! < other! ? -1 : 1;
    });
  }

  /** Every object of every kind. */
  *all(): Generator<{ key: string; object: KubeObject }> {
    for (const [key, objects] of this.#objects) for (const object of objects.values()) yield { key, object };
  }

  /** Stores the object under the next version and returns it. */
  put(key: string, object: KubeObject): KubeObject {
    const objects = this.#objects.get(key) ?? new Map<string, KubeObject>();
    this.#objects.set(key, objects);
    const path = pathOf(object.metadata.namespace, object.metadata.name);
    const before = objects.get(path);
    const stored = this.#stamp(object);
    objects.set(path, stored);
    this.#emit({ type: before ? 'MODIFIED' : 'ADDED', key, version: this.#version, object: stored, before });
    return stored;
  }

  remove(key: string, object: KubeObject): KubeObject {
    const { namespace, name } = object.metadata;
    const before = this.find(key, namespace, name);
    this.#objects.get(key)?.delete(pathOf(namespace, name));
    const last = this.#stamp(object);
    if (before) this.#emit({ type: 'DELETED', key, version: this.#version, object: last, before });
    return last;
  }

  /** Changes after a version; undefined if they are no longer kept. */
  since(version: number): ObjectChange[] | undefined {
    if (version < this.#forgotten) return undefined;
    return this.#history.filter((change) => change.version > version);
  }

  /** Calls the listener with each change from now on, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #stamp(object: KubeObject): KubeObject {
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
  }

  #emit(change: ObjectChange): void {
    this.#history.push(change);
    if (this.#history.length > MAX_HISTORY) this.#forgotten = this.#history.shift()!.version;
    for (const listener of this.#listeners) listener(change);
  }
}
