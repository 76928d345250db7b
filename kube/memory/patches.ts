/** The patches that kubectl and other clients send: JSON merge (RFC 7396), JSON (RFC 6902) and strategic merge. */

import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import type { Fields } from '../object.ts';
import { decideListType, type ListTypes } from './field-set.ts';
import { badRequest, StatusError } from './status-error.ts';

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Fields = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  return result;
}

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

/** Throws StatusError 422 where a test fails or a path is not there. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch must be a list of operations');
  let result = structuredClone(target);
  for (const { op, path, from, value } of operations as Operation[]) {
    if (op === 'test') {
      if (!isDeepStrictEqual(read(result, path), value)) throw refuse(`testing value ${path} failed`);
    } else if (op === 'remove') result = edit(result, path, undefined);
    else if (op === 'add' || op === 'replace') result = edit(result, path, { value, insert: op === 'add' });
    else if (op === 'copy' || op === 'move') {
      const moved = structuredClone(read(result, from ?? ''));
      if (op === 'move') result = edit(result, from ?? '', undefined);
      result = edit(result, path, { value: moved, insert: true });
    } else throw badRequest(`unknown operation ${op}`);
  }
  return result;
}

const refuse = (message: string) =>
  new StatusError(422, 'Invalid', `the server rejected our request: ${message}`);

const split = (path: string): string[] =>
  path === ''
    ? []
    : path
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

function read(target: unknown, path: string): unknown {
  return split(path).reduce<unknown>((inner, part) => {
    if (typeof inner !== 'object' || inner === null) throw refuse(`missing path ${path}`);
    return (inner as Fields)[part];
  }, target);
}

function edit(
  target: unknown,
  path: string,
  change: { value: unknown; insert: boolean } | undefined,
): unknown {
  const parts = split(path);
  const last = parts.pop();
  if (last === undefined) return change?.value;
  const parent = read(
    target,
    parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  );
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!change) parent.splice(index, 1);
    else parent.splice(index, change.insert ? 0 : 1, change.value);
  } else if (isObject(parent)) {
    if (change) parent[last] = change.value;
    else if (last in parent) delete parent[last];
    else throw refuse(`missing path ${path}`);
  } else throw refuse(`missing path ${path}`);
  return target;
}

/** As kubectl sends for kinds that it knows: keyed lists are merged item by item. */
export function strategicMergePatch(
  target: unknown,
  patch: unknown,
  types: ListTypes,
  path: readonly string[] = [],
): unknown {
  if (!isObject(patch)) return patch;
  if (patch.$patch === 'replace') return withoutDirectives(patch);
  const result: Fields = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$deleteFromPrimitiveList/')) {
      const field = name.slice('$deleteFromPrimitiveList/'.length);
      const gone = new Set(value as unknown[]);
      result[field] = ((result[field] as unknown[] | undefined) ?? []).filter((item) => !gone.has(item));
    } else if (name.startsWith('$')) continue;
    else if (value === null) delete result[name];
    else if (Array.isArray(value)) result[name] = mergeList(result[name], value, types, [...path, name]);
    else result[name] = strategicMergePatch(result[name], value, types, [...path, name]);
  }
  return result;
}

function mergeList(target: unknown, patch: unknown[], types: ListTypes, path: readonly string[]): unknown[] {
  if (patch.some((item) => isObject(item) && item.$patch === 'replace'))
    return patch.filter((item) => !(isObject(item) && item.$patch === 'replace'));
  const plain = patch.filter((item) => !(isObject(item) && '$patch' in item));
  const type = decideListType(types, path, plain);
  if (type === 'atomic' || !Array.isArray(target)) return plain.map(withoutDirectives);
  if (type === 'set') return [...target, ...plain.filter((item) => !target.includes(item))];
  // kubectl knows one key of a list, where server-side apply may know more.
  const key = type[0]!;
  const result = [...target] as Fields[];
  for (const item of patch as Fields[]) {
    const at = result.findIndex((other) => other[key] === item[key]);
    if (item.$patch === 'delete') {
      if (at >= 0) result.splice(at, 1);
    } else if (at < 0) result.push(withoutDirectives(item) as Fields);
    else result[at] = strategicMergePatch(result[at], item, types, path) as Fields;
  }
  return result;
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([name]) => !name.startsWith('$'));
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutDirectives(inner)]));
}
