/** Server-side apply: merges a manager's fields, releases its previous ones, and tracks ownership. */

import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import type { Fields, KubeObject } from '../object.ts';
import { formatTime } from '../time.ts';
import {
  changedFields,
  decideListType,
  difference,
  type FieldSet,
  fieldsOf,
  intersection,
  itemPath,
  type ListTypes,
  type ManagedFields,
  union,
} from './field-set.ts';
import { StatusError } from './status-error.ts';

export interface FieldWriter {
  manager: string;
  subresource?: string;
}

/** Fields that nobody owns. */
const IDENTITY = new Set([
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
]);

/** The part of an object that fields of a (sub)resource are owned in. */
function ownable(object: KubeObject, { subresource }: Pick<FieldWriter, 'subresource'>): Fields {
  const { apiVersion: _, kind: __, metadata, status, ...rest } = object;
  if (subresource === 'status') return status === undefined ? {} : { status };
  const owned = Object.entries(metadata).filter(
    ([name, value]) =>
      !IDENTITY.has(name) && value !== undefined && !(isObject(value) && Object.keys(value).length === 0),
  );
  return { ...rest, ...(owned.length > 0 ? { metadata: Object.fromEntries(owned) } : {}) };
}

export interface Applied {
  live: KubeObject | undefined;
  wanted: KubeObject;
  writer: FieldWriter;
  /** Take fields from other managers instead of failing with a conflict. */
  force: boolean;
  types: ListTypes;
  now: Date;
}

/** The object after an apply, with its managed fields. Throws StatusError 409 for a conflict. */
export function applyObject({ live, wanted, writer, force, types, now }: Applied): KubeObject {
  const part = ownable(wanted, writer);
  const fresh = fieldsOf(part, types);
  const books = readManagedFields(live);
  const isOwn = (entry: ManagedFields) =>
    entry.manager === writer.manager &&
    entry.operation === 'Apply' &&
    (entry.subresource ?? '') === (writer.subresource ?? '');
  const before = books.find(isOwn)?.fieldsV1;
  const base = live ? ownable(live, writer) : {};
  const merged = merge(base, part, types) as Fields;
  const changed = changedFields(base, merged, types);
  const others = books.filter((entry) => !isOwn(entry));
  const taken = changed && intersection(changed, fresh);
  if (!force && taken) requireNoConflict(others, taken);
  const givenUp = before && difference(before, fresh);
  const kept = others.reduce<FieldSet | undefined>(
    (left, { fieldsV1 }) => left && difference(left, fieldsV1),
    givenUp,
  );
  const result = kept ? (remove(merged, kept, types) as Fields) : merged;
  const remaining = others.flatMap((entry) => {
    const fieldsV1 = taken ? difference(entry.fieldsV1, taken) : entry.fieldsV1;
    return fieldsV1 ? [{ ...entry, fieldsV1 }] : [];
  });
  const own = describe(wanted, { ...writer, operation: 'Apply', fields: fresh, now });
  const isSame = before !== undefined && isDeepStrictEqual(before, fresh);
  const entry = isSame ? { ...own, time: books.find(isOwn)!.time } : own;
  return put(live ?? wanted, result, { managedFields: [...remaining, entry as ManagedFields], writer });
}

/** As this server wrote them, complete. */
const readManagedFields = (object: KubeObject | undefined): ManagedFields[] =>
  (object?.metadata.managedFields ?? []) as ManagedFields[];

function requireNoConflict(others: readonly ManagedFields[], taken: FieldSet): void {
  for (const { manager, fieldsV1 } of others) {
    const both = intersection(fieldsV1, taken);
    if (!both) continue;
    const fields = listPaths(both);
    const message = `conflict with "${manager}"`;
    throw new StatusError(
      409,
      'Conflict',
      `Apply failed with ${fields.length} conflict${fields.length > 1 ? 's' : ''}: ${message}: ${fields.join(', ')}`,
      { causes: fields.map((field) => ({ reason: 'FieldManagerConflict', field, message })) },
    );
  }
}

function listPaths(set: FieldSet, prefix = ''): string[] {
  const entries = Object.entries(set).filter(([path]) => path !== '.');
  if (entries.length === 0) return [prefix];
  return entries.flatMap(([path, inner]) =>
    listPaths(inner, path.startsWith('f:') ? `${prefix}.${path.slice(2)}` : `${prefix}[${path.slice(2)}]`),
  );
}

/** The managed fields after a write of the whole object: the writer owns what it changed. */
export function recordUpdate(
  before: KubeObject | undefined,
  after: KubeObject,
  { writer, types, now }: { writer: FieldWriter; types: ListTypes; now: Date },
): ManagedFields[] {
  const books = readManagedFields(before);
  const was = before ? ownable(before, writer) : {};
  const is = ownable(after, writer);
  const changed = changedFields(was, is, types);
  if (!changed) return [...books];
  const set = intersection(fieldsOf(is, types), changed);
  const rest = books.flatMap((entry) => {
    const fieldsV1 = difference(entry.fieldsV1, changed);
    return fieldsV1 ? [{ ...entry, fieldsV1 }] : [];
  });
  if (!set) return rest;
  const isOwn = (entry: ManagedFields) =>
    entry.manager === writer.manager &&
    entry.operation === 'Update' &&
    (entry.subresource ?? '') === (writer.subresource ?? '');
  const own = rest.find(isOwn)?.fieldsV1;
  const fields = own ? union(own, set) : set;
  return [
    ...rest.filter((entry) => !isOwn(entry)),
    describe(after, { ...writer, operation: 'Update', fields, now }),
  ];
}

function describe(
  { apiVersion }: KubeObject,
  entry: FieldWriter & { operation: 'Apply' | 'Update'; fields: FieldSet; now: Date },
): ManagedFields {
  const { manager, subresource, operation, fields, now } = entry;
  return {
    manager,
    operation,
    apiVersion,
    time: formatTime(now),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(subresource ? { subresource } : {}),
  };
}

/** Puts an ownable part back into its object. */
function put(
  object: KubeObject,
  part: Fields,
  { managedFields, writer }: { managedFields: ManagedFields[]; writer: FieldWriter },
): KubeObject {
  const { apiVersion, kind, metadata } = object;
  if (writer.subresource === 'status')
    return { ...object, status: part.status, metadata: { ...metadata, managedFields } };
  const { metadata: own = {}, ...rest } = part as { metadata?: Fields };
  const identity = Object.fromEntries(Object.entries(metadata).filter(([name]) => IDENTITY.has(name)));
  const { status } = object;
  return {
    apiVersion,
    kind,
    metadata: { ...identity, ...own, managedFields } as KubeObject['metadata'],
    ...rest,
    ...(status === undefined ? {} : { status }),
  };
}

function merge(live: unknown, wanted: unknown, types: ListTypes, path: readonly string[] = []): unknown {
  if (wanted === undefined || wanted === null) return live;
  if (isObject(wanted)) {
    if (!isObject(live)) return dropNulls(wanted);
    const result: Fields = { ...live };
    for (const [name, value] of Object.entries(wanted))
      if (value !== undefined && value !== null)
        result[name] = merge(live[name], value, types, [...path, name]);
    return result;
  }
  if (!Array.isArray(wanted) || !Array.isArray(live)) return dropNulls(wanted);
  const type = decideListType(types, path, wanted);
  if (type === 'atomic' || decideListType(types, path, live) === 'atomic') return dropNulls(wanted);
  if (type === 'set') return [...live, ...wanted.filter((item) => !live.includes(item))];
  const wantedByKey = new Map(wanted.map((item) => [itemPath(item, type), item]));
  const liveByKey = new Map(live.map((item) => [itemPath(item, type), item]));
  // The applied ones in their order, then the others'.
  return [
    ...wanted.map((item) => merge(liveByKey.get(itemPath(item, type)), item, types, path)),
    ...live.filter((item) => !wantedByKey.has(itemPath(item, type))),
  ];
}

function dropNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null);
  return Object.fromEntries(entries.map(([name, inner]) => [name, dropNulls(inner)]));
}

/** The value without the fields of a set; undefined if removed as a whole. */
function remove(value: unknown, set: FieldSet, types: ListTypes, path: readonly string[] = []): unknown {
  const paths = Object.keys(set);
  if (paths.length === 0) return undefined;
  if (isObject(value)) {
    const result = { ...value };
    for (const [element, inner] of Object.entries(set)) {
      const name = element.slice(2);
      if (!element.startsWith('f:') || result[name] === undefined) continue;
      const left = remove(result[name], inner, types, [...path, name]);
      if (left === undefined) delete result[name];
      else result[name] = left;
    }
    return Object.keys(result).length === 0 ? undefined : result;
  }
  if (!Array.isArray(value)) return value;
  const left = value.flatMap((item) => {
    const element = paths.find((candidate) =>
      candidate.startsWith('k:')
        ? itemPath(item, Object.keys(JSON.parse(candidate.slice(2)) as Fields)) === candidate
        : candidate === `v:${JSON.stringify(item)}`,
    );
    if (element === undefined) return [item];
    if (element.startsWith('v:') || '.' in set[element]!) return [];
    const rest = remove(item, set[element]!, types, path);
    return rest === undefined ? [] : [rest];
  });
  return left.length === 0 ? undefined : left;
}
