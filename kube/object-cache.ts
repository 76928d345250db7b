/** The objects of one resource as last seen, by key and by index. */
import { controllerOf, type KubeObject, objectKey } from './object.ts';

/** Indexes: each has a name and the values of an object under it. */
export type Indexes<T extends KubeObject> = Record<string, (object: T) => readonly string[]>;

/** The index of every cache: the uid of the object's controller. */
export const BY_CONTROLLER = 'controller';

/** What readers get: objects are frozen, since they are shared. */
export interface ObjectCache<T extends KubeObject = KubeObject> {
  get(key: string): T | undefined;
  list(): T[];
  /** Objects with this value under an index; throws if there is no such index. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
}

export class WritableCache<T extends KubeObject> implements ObjectCache<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: Indexes<T>;
  readonly #keys = new Map<string, KeyIndex>();

  constructor(indexes: Indexes<T> = {}) {
    this.#indexes = { [BY_CONTROLLER]: (object) => [controllerOf(object)?.uid ?? []].flat(), ...indexes };
    for (const index of Object.keys(this.#indexes)) this.#keys.set(index, new KeyIndex());
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  byIndex(index: string, value: string): T[] {
    const keys = this.#keys.get(index);
    if (!keys) throw new Error(`no index "${index}"`);
    return keys.list(value).map((key) => this.#objects.get(key)!);
  }

  /** Keeps an object and returns the one that it replaces. */
  put(object: T): T | undefined {
    const key = objectKey(object);
    const old = this.#objects.get(key);
    if (old) this.#unindex(key, old);
    this.#objects.set(key, freeze(object));
    for (const [index, values] of Object.entries(this.#indexes))
      for (const value of values(object)) this.#keys.get(index)!.add(value, key);
    return old;
  }

  remove(key: string): T | undefined {
    const old = this.#objects.get(key);
    if (old) this.#unindex(key, old);
    this.#objects.delete(key);
    return old;
  }

  #unindex(key: string, object: T): void {
    for (const [index, values] of Object.entries(this.#indexes))
      for (const value of values(object)) this.#keys.get(index)!.delete(value, key);
  }
}

/** Keys by the values they are found under. Most values have one key, and thousands of sets of one would take much memory. */
class KeyIndex {
  readonly #keys = new Map<string, string | Set<string>>();

  list(value: string): string[] {
    const keys = this.#keys.get(value) ?? [];
    return typeof keys === 'string' ? [keys] : [...keys];
  }

  add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined || keys === key) this.#keys.set(value, key);
    else if (typeof keys === 'string') this.#keys.set(value, new Set([keys, key]));
    else keys.add(key);
  }

  delete(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys instanceof Set) keys.delete(key);
    if (keys === key || (keys instanceof Set && keys.size === 0)) this.#keys.delete(value);
  }
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) freeze(child);
  }
  return value;
}
