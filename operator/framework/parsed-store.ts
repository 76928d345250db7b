/** All objects of one custom resource as last seen, parsed by their schema: an invalid one is reported, never thrown. */

import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { FIELD_MESSAGES } from '../../api/field-messages.ts';
import type { ObjectMeta } from '../../api/kubernetes-types.ts';

/** A custom resource as returned by the API server. */
export interface RawObject {
  apiVersion?: string;
  kind?: string;
  metadata: Pick<ObjectMeta, 'name' | 'namespace'> & Partial<ObjectMeta>;
  spec?: unknown;
  status?: unknown;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

interface Stored<T> {
  uid: string | undefined;
  resourceVersion: string | undefined;
  parsed: Parsed<T>;
  isLeaving: boolean;
}

/** Subclasses keep derived state: who owns what, and which objects count. */
export abstract class ParsedStore<T> {
  readonly #schema: z.ZodType<T>;
  readonly #stored = new Map<string, Stored<T>>();
  /** Names by namespace. */
  readonly #names = new Map<string, Set<string>>();

  constructor(schema: z.ZodType<T>) {
    this.#schema = schema;
  }

  /** Stores an object from the watch; returns the keys of others that it affects. */
  put(key: string, object: RawObject): string[] {
    const { uid, resourceVersion, namespace, name, deletionTimestamp } = object.metadata;
    const before = this.#stored.get(key);
    // Unreadable objects are reread: a stub is completed in the same version once there is room.
    if (
      before?.parsed.ok &&
      resourceVersion &&
      before.resourceVersion === resourceVersion &&
      before.uid === uid
    )
      return [];
    // Deleted and recreated in between: a different object, with its own place in every queue.
    const affected = before && before.uid !== uid ? this.remove(key) : [];
    const result = parseObject(this.#schema, object);
    // The watch keeps the object, too: share most of it.
    const parsed: Parsed<T> = result.ok ? { ok: true, value: shareEqualParts(result.value, object) } : result;
    this.#stored.set(key, { uid, resourceVersion, parsed, isLeaving: deletionTimestamp !== undefined });
    this.#names.set(namespace, (this.#names.get(namespace) ?? new Set()).add(name));
    return [...affected, ...this.onPut(key, object, parsed)];
  }

  /** Removes a deleted object; returns the keys of others that this affects. */
  remove(key: string): string[] {
    if (!this.#stored.delete(key)) return [];
    const [namespace = '', name = ''] = key.split('/');
    const names = this.#names.get(namespace)!;
    names.delete(name);
    if (names.size === 0) this.#names.delete(namespace);
    return this.onRemove(key);
  }

  protected abstract onPut(key: string, object: RawObject, parsed: Parsed<T>): string[];
  protected abstract onRemove(key: string): string[];

  get(key: string): Parsed<T> | undefined {
    return this.#stored.get(key)?.parsed;
  }

  /** The uid of the stored object. */
  uidOf(key: string): string | undefined {
    return this.#stored.get(key)?.uid;
  }

  /** Whether it is being deleted. */
  isLeaving(key: string): boolean {
    return this.#stored.get(key)?.isLeaving ?? false;
  }

  namespaces(): Iterable<string> {
    return this.#names.keys();
  }

  has(namespace: string): boolean {
    return this.#names.has(namespace);
  }

  names(namespace: string): ReadonlySet<string> {
    return this.#names.get(namespace) ?? new Set();
  }

  keys(namespace: string): string[] {
    return [...this.names(namespace)].map((name) => `${namespace}/${name}`);
  }
}

/** One whose objects are published as entries that only reconciling can determine. */
export abstract class EntryStore<T, E extends object> extends ParsedStore<T> {
  readonly #entries = new Map<string, E | null>();

  /** What to publish of an object: null = nothing; undefined = not reconciled yet. */
  entry(key: string): E | null | undefined {
    return this.#entries.get(key);
  }

  /** Sets what to publish of a stored object; false if unchanged. */
  setEntry(key: string, entry: E | null): boolean {
    if (this.get(key) === undefined || JSON.stringify(this.#entries.get(key)) === JSON.stringify(entry))
      return false;
    this.#entries.set(key, entry);
    return true;
  }

  entries(namespace: string): { name: string; entry: E | null | undefined }[] {
    return [...this.names(namespace)].map((name) => ({ name, entry: this.entry(`${namespace}/${name}`) }));
  }

  protected override onRemove(key: string): string[] {
    this.#entries.delete(key);
    return [];
  }
}

const MAX_ISSUES = 5;

/** The object with all defaults, or what is wrong with it, field by field. */
export function parseObject<T>(schema: z.ZodType<T>, object: unknown): Parsed<T> {
  // The spec of a dropped object is the reason for that (object-budget.ts).
  const { spec } = object as RawObject;
  if (typeof spec === 'string') return { ok: false, message: spec };
  const result = schema.safeParse(object, FIELD_MESSAGES);
  if (result.success) return { ok: true, value: result.data };
  const issues = result.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${path.map(String).join('.') || 'object'}: ${message}`);
  const more = result.error.issues.length - issues.length;
  return { ok: false, message: issues.join('; ') + (more > 0 ? `; and ${more} more` : '') };
}

/** `parsed` with every part shared with its equal in `source`; differing parts stay. */
export function shareEqualParts<T>(parsed: T, source: unknown): T {
  if (typeof parsed !== 'object' || parsed === null || typeof source !== 'object' || source === null)
    return parsed;
  if (isDeepStrictEqual(parsed, source)) return source as T;
  if (Array.isArray(parsed)) return parsed;
  const parts = source as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [name, shareEqualParts(value, parts[name])]),
  ) as T;
}
