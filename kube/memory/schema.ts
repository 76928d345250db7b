/** Applies a structural schema to a custom object: prunes or rejects unknown fields, and fills in defaults. */

import { isObject } from '../../kit/json.ts';
import type { Fields } from '../object.ts';
import type { ListType } from './field-set.ts';

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  default?: unknown;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  [field: string]: unknown;
}

const ROOT = new Set(['apiVersion', 'kind', 'metadata']);

/** The value without unknown fields, whose paths are added to `unknown`. */
export function prune(value: unknown, schema: Schema | undefined, unknown: string[], path = ''): unknown {
  if (!schema || (schema['x-kubernetes-preserve-unknown-fields'] && !schema.properties)) return value;
  if (Array.isArray(value))
    return value.map((item, index) => prune(item, schema.items, unknown, `${path}[${index}]`));
  if (!isObject(value)) return value;
  const result: Fields = {};
  for (const [name, inner] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    const own = schema.properties?.[name];
    if (path === '' && ROOT.has(name)) result[name] = inner;
    else if (own) result[name] = prune(inner, own, unknown, at);
    else if (isObject(schema.additionalProperties))
      result[name] = prune(inner, schema.additionalProperties, unknown, at);
    else if (schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true)
      result[name] = inner;
    else unknown.push(at);
  }
  return result;
}

/** The value with the schema's defaults for missing or null fields. */
export function fillDefaults(value: unknown, schema: Schema | undefined): unknown {
  if (!schema) return value;
  if (Array.isArray(value)) return value.map((item) => fillDefaults(item, schema.items));
  if (!isObject(value)) return value;
  const result: Fields = { ...value };
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (result[name] === null || result[name] === undefined) {
      if (inner.default !== undefined) result[name] = structuredClone(inner.default);
      else if (result[name] === undefined) continue;
    }
    result[name] = fillDefaults(result[name], inner);
  }
  if (isObject(schema.additionalProperties))
    for (const name of Object.keys(result))
      if (!schema.properties?.[name]) result[name] = fillDefaults(result[name], schema.additionalProperties);
  return result;
}

/** The item of an older list that has the keys of this one; undefined where the list has none. */
export function findListItem(schema: Schema, older: unknown, item: unknown): unknown {
  const keys = schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined;
  if (!keys || !Array.isArray(older) || !isObject(item)) return undefined;
  return older.find((each) => isObject(each) && keys.every((key) => each[key] === item[key]));
}

/** How the list at a path is merged, by the schema. */
export function listTypeAt(schema: Schema, path: readonly string[]): ListType {
  let at: Schema | undefined = schema;
  for (const name of path) {
    while (at?.items) at = at.items;
    at = at?.properties?.[name] ?? (isObject(at?.additionalProperties) ? at.additionalProperties : undefined);
  }
  if (at?.['x-kubernetes-list-type'] === 'set') return 'set';
  return at?.['x-kubernetes-list-type'] === 'map' ? (at['x-kubernetes-list-map-keys'] ?? []) : 'atomic';
}
