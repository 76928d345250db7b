/** What one field manager owns of an object, from `metadata.managedFields`. */

import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../kit/json.ts';
import type { KubeObject, ManagedFieldsEntry } from './object.ts';

/** `f:name` of a map, `k:{…}` of a keyed list, `v:…` of a set; `.` is the thing itself; empty: all of it. */
export type OwnedFields = { [path: string]: OwnedFields };

/** The fields that a manager owns by server-side apply; of a subresource, or of the object itself. */
export function ownedFields(
  live: Pick<KubeObject, 'metadata'>,
  manager: string,
  subresource = '',
): OwnedFields | undefined {
  const entry = live.metadata.managedFields?.find(
    (candidate) =>
      candidate.manager === manager &&
      candidate.operation === 'Apply' &&
      (candidate.subresource ?? '') === subresource,
  );
  return entry && withoutOwners(entry.fieldsV1 as OwnedFields);
}

/**
 * The manager that wrote fields of the spec last, by a write of the object itself. Kubernetes records no manager of a field
 * that was only removed. `counts`: whether a field does, by its names, such as `['rollout', 'maxSurge']`.
 */
export const findSpecWriter = (
  { metadata }: Pick<KubeObject, 'metadata'>,
  counts: (names: readonly string[]) => boolean,
): ManagedFieldsEntry | undefined =>
  metadata.managedFields
    ?.filter(
      ({ subresource, fieldsV1 }) =>
        !subresource &&
        isObject(fieldsV1) &&
        'f:spec' in fieldsV1 &&
        listFields(fieldsV1['f:spec'] as OwnedFields).some(counts),
    )
    .sort((one, other) => (one.time ?? '').localeCompare(other.time ?? ''))
    .at(-1);

/** Names of the fields in the first two levels; of what is owned as a whole, of the first. */
const listFields = (owned: OwnedFields): string[][] =>
  listNames(owned).flatMap(([name, inner]) => {
    const members = listNames(inner);
    return members.length === 0 ? [[name]] : members.map(([member]) => [name, member]);
  });

const listNames = (owned: OwnedFields): [string, OwnedFields][] =>
  Object.entries(owned).flatMap(([path, inner]) => (path.startsWith('f:') ? [[path.slice(2), inner]] : []));

/** Owner references are keyed by uid, which would prevent sharing: they count as owned as a whole. */
export function withoutOwners(owned: OwnedFields = {}): OwnedFields {
  const metadata = owned['f:metadata'];
  if (metadata?.['f:ownerReferences'] === undefined) return owned;
  return { ...owned, 'f:metadata': { ...metadata, 'f:ownerReferences': {} } };
}

/**
 * Whether every field of `wanted` is among the owned ones. Whoever changes the value of an owned field takes it
 * over, so a manager that still owns everything it applied finds it as it left it, in whatever form the API server
 * writes it (`1` as `"1"`, defaults filled in).
 */
export function ownsAll(wanted: unknown, owned: OwnedFields | undefined): boolean {
  if (!owned) return false;
  if (isLeaf(owned)) return true;
  if (Array.isArray(wanted)) return wanted.every((item) => ownsItem(item, owned));
  if (!isObject(wanted)) return true;
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined && value !== null)
    .every(([name, value]) => ownsAll(value, owned[`f:${name}`]));
}

function ownsItem(item: unknown, owned: OwnedFields): boolean {
  if (!isObject(item)) return `v:${JSON.stringify(item)}` in owned;
  const path = findPath(item, owned);
  return path !== undefined && ownsAll(item, owned[path]);
}

/**
 * Whether `live` holds exactly `wanted` in what is owned of it: no owned field more, none less, the same values.
 * For kinds that keep values as they are written; see `ownsAll` for the others.
 */
export function isAsApplied(wanted: unknown, live: unknown, owned: OwnedFields | undefined): boolean {
  if (!owned) return false;
  if (isLeaf(owned)) return isDeepStrictEqual(wanted, live);
  const paths = Object.keys(owned).filter((path) => path !== '.');
  if (Array.isArray(wanted) && Array.isArray(live)) {
    if (wanted.length !== paths.length) return false;
    return wanted.every((item) => isItemAsApplied(item, live, owned));
  }
  if (!isObject(wanted) || !isObject(live)) return false;
  const names = Object.keys(wanted);
  if (names.length !== paths.length) return false;
  return names.every((name) => isAsApplied(wanted[name], live[name], owned[`f:${name}`]));
}

function isItemAsApplied(item: unknown, live: unknown[], owned: OwnedFields): boolean {
  if (!isObject(item)) return ownsItem(item, owned) && live.includes(item);
  const path = findPath(item, owned);
  if (path === undefined) return false;
  const found = live.find((candidate) => isObject(candidate) && findPath(candidate, { [path]: {} }) === path);
  return isAsApplied(item, found, owned[path]);
}

/** The path of a keyed list's item. Keys that have defaults (a port's protocol) may be left out of it. */
function findPath(item: Record<string, unknown>, owned: OwnedFields): string | undefined {
  return Object.keys(owned).find((path) => {
    if (!path.startsWith('k:')) return false;
    const keys = JSON.parse(path.slice(2)) as Record<string, unknown>;
    return Object.entries(keys).every(([name, key]) => (item[name] ?? key) === key);
  });
}

/** Owned as a whole. With a `.` alone it is owned without anything in it. */
const isLeaf = (owned: OwnedFields) => Object.keys(owned).length === 0;
