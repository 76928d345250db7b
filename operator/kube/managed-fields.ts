/** What one field manager owns of an object, read from `metadata.managedFields`. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from './object.ts';

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
  return entry?.fieldsV1 as OwnedFields | undefined;
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
  if (!isMap(wanted)) return true;
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined && value !== null)
    .every(([name, value]) => ownsAll(value, owned[`f:${name}`]));
}

function ownsItem(item: unknown, owned: OwnedFields): boolean {
  if (!isMap(item)) return `v:${JSON.stringify(item)}` in owned;
  // Keys that have defaults (a port's protocol) may be left out of what was applied.
  const path = Object.keys(owned).find((candidate) => {
    const keys = parsePath(candidate, 'k:');
    return isMap(keys) && Object.entries(keys).every(([name, key]) => (item[name] ?? key) === key);
  });
  return path !== undefined && ownsAll(item, owned[path]);
}

/** The part of `live` that the manager owns: what it applied last, as it is now. */
export function extractOwned(live: unknown, owned: OwnedFields): unknown {
  if (isLeaf(owned)) return live;
  if (Array.isArray(live)) return live.flatMap((item) => extractItem(item, owned));
  if (!isMap(live)) return live;
  return Object.fromEntries(
    Object.entries(live).flatMap(([name, value]) => {
      const inner = owned[`f:${name}`];
      return inner ? [[name, extractOwned(value, inner)]] : [];
    }),
  );
}

function extractItem(item: unknown, owned: OwnedFields): unknown[] {
  for (const [path, inner] of Object.entries(owned)) {
    const keys = parsePath(path, 'k:');
    if (isMap(keys) && isMap(item) && Object.entries(keys).every(([name, key]) => item[name] === key))
      return [{ ...keys, ...(extractOwned(item, inner) as object) }];
    if (path.startsWith('v:') && isDeepStrictEqual(parsePath(path, 'v:'), item)) return [item];
  }
  return [];
}

const isLeaf = (owned: OwnedFields) => Object.keys(owned).every((path) => path === '.');

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsePath(path: string, prefix: 'k:' | 'v:'): unknown {
  return path.startsWith(prefix) ? JSON.parse(path.slice(prefix.length)) : undefined;
}
