/** Field sets in the format of `metadata.managedFields`, with structured-merge-diff's rules for lists. */

import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import type { Fields, ManagedFieldsEntry } from '../object.ts';

/** `f:name` of a map, `k:{…}` of a keyed list, `v:…` of a set, `.` the thing itself; empty: all of it. */
export type FieldSet = { [path: string]: FieldSet };

/** An entry as this server writes it, complete. */
export interface ManagedFields extends ManagedFieldsEntry {
  manager: string;
  operation: 'Apply' | 'Update';
  fieldsV1: FieldSet;
}

/** How a list is merged: as a whole, by its values, or by keys of its items. */
export type ListType = 'atomic' | 'set' | readonly string[];

/** By the path of field names from the object's root. */
export type ListTypes = (path: readonly string[], items: readonly unknown[]) => ListType;

const KEY_DEFAULTS: Fields = { protocol: 'TCP' };

/** The path element of an item of a keyed list; undefined if none of its keys is present. */
export function itemPath(item: unknown, keys: readonly string[]): string | undefined {
  if (!isObject(item) || keys.every((key) => item[key] === undefined)) return undefined;
  return `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, item[key] ?? KEY_DEFAULTS[key]])))}`;
}

/** Lists whose items cannot be distinguished are treated as atomic. */
export function decideListType(
  types: ListTypes,
  path: readonly string[],
  items: readonly unknown[],
): ListType {
  const type = types(path, items);
  if (typeof type === 'string') return type;
  const paths = items.map((item) => itemPath(item, type));
  return paths.includes(undefined) || new Set(paths).size < paths.length ? 'atomic' : type;
}

/** Every field of a value. */
export function fieldsOf(value: unknown, types: ListTypes, path: readonly string[] = []): FieldSet {
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null);
    return Object.fromEntries(
      entries.map(([name, inner]) => [`f:${name}`, fieldsOf(inner, types, [...path, name])]),
    );
  }
  if (!Array.isArray(value)) return {};
  const type = decideListType(types, path, value);
  if (type === 'atomic') return {};
  if (type === 'set') return Object.fromEntries(value.map((item) => [`v:${JSON.stringify(item)}`, {}]));
  return Object.fromEntries(
    value.map((item) => [itemPath(item, type)!, { '.': {}, ...fieldsOf(item, types, path) }]),
  );
}

const isLeaf = (set: FieldSet): boolean => Object.keys(set).length === 0;

/** What is in `a` or in `b`. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isLeaf(a) || isLeaf(b)) return isLeaf(a) && isLeaf(b) ? {} : isLeaf(a) ? b : a;
  const result: FieldSet = { ...a };
  for (const [path, inner] of Object.entries(b))
    result[path] = path in result ? union(result[path]!, inner) : inner;
  return result;
}

/** What is in `a` but not in `b`; undefined if empty. */
export function difference(a: FieldSet, b: FieldSet | undefined): FieldSet | undefined {
  if (b === undefined) return a;
  if (isLeaf(a) || isLeaf(b)) return undefined;
  const left = Object.entries(a).flatMap(([path, inner]) => {
    const rest = difference(inner, b[path]);
    return rest === undefined ? [] : [[path, rest] as const];
  });
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** What is in both; undefined if empty. */
export function intersection(a: FieldSet, b: FieldSet | undefined): FieldSet | undefined {
  if (b === undefined) return undefined;
  if (isLeaf(a) || isLeaf(b)) return isLeaf(a) ? a : b;
  const both = Object.entries(a).flatMap(([path, inner]) => {
    const common = intersection(inner, b[path]);
    return common === undefined ? [] : [[path, common] as const];
  });
  return both.length === 0 ? undefined : Object.fromEntries(both);
}

/** Fields whose value in `after` differs from `before`, and those that it lacks; undefined if none. */
export function changedFields(
  before: unknown,
  after: unknown,
  types: ListTypes,
  path: readonly string[] = [],
): FieldSet | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return collect([...names], (name) => [
      `f:${name}`,
      before[name] === undefined || after[name] === undefined
        ? fieldsOf(before[name] ?? after[name], types, [...path, name])
        : changedFields(before[name], after[name], types, [...path, name]),
    ]);
  }
  if (!Array.isArray(before) || !Array.isArray(after)) return {};
  const type = decideListType(types, path, after);
  if (type === 'atomic' || decideListType(types, path, before) === 'atomic') return {};
  const keyOf = (item: unknown) =>
    type === 'set' ? `v:${JSON.stringify(item)}` : itemPath(item, type as readonly string[])!;
  const old = new Map(before.map((item) => [keyOf(item), item]));
  const fresh = new Map(after.map((item) => [keyOf(item), item]));
  return collect([...new Set([...old.keys(), ...fresh.keys()])], (key) => [
    key,
    old.has(key) && fresh.has(key)
      ? changedFields(old.get(key), fresh.get(key), types, path)
      : type === 'set'
        ? {}
        : { '.': {}, ...fieldsOf(old.get(key) ?? fresh.get(key), types, path) },
  ]);
}

function collect(
  names: readonly string[],
  read: (name: string) => [path: string, set: FieldSet | undefined],
): FieldSet | undefined {
  const found = names.map(read).filter((entry): entry is [string, FieldSet] => entry[1] !== undefined);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
