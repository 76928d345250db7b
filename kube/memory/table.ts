/** The output of `kubectl get`: columns of a kind, and the Table that the API server returns. */
import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';

export interface Column {
  name: string;
  type: string;
  description?: string;
  /** Above 0: with `-o wide` only. */
  priority: number;
  read: (object: KubeObject, now: Date) => unknown;
}

export type Include = 'None' | 'Metadata' | 'Object';

export function buildTable(
  objects: readonly KubeObject[],
  {
    columns,
    include,
    metadata,
    now,
  }: { columns: readonly Column[]; include: Include; metadata: object; now: Date },
): object {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, type, description = '', priority }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description,
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map(({ read }) => read(object, now) ?? ''),
      ...(include === 'None' ? {} : { object: include === 'Object' ? object : partialMetadata(object) }),
    })),
  };
}

export const partialMetadata = ({ metadata }: KubeObject): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
});

/** `.status.conditions[?(@.type=="Ready")].reason`, as columns of custom resources write it. */
export function readJSONPath(object: unknown, path: string): unknown {
  let value: unknown = object;
  for (const part of path.match(/\[\?\(.*?\)\]|\[[^\]]*\]|\.?(?:\\.|[^.[\\])+/g) ?? []) {
    if (value === undefined || value === null) return undefined;
    const filter = /^\[\?\(@\.([\w.]+)\s*==\s*["']([^"']*)["']\)\]$/.exec(part);
    if (filter)
      value = (value as unknown[]).find?.((item) => isObject(item) && item[filter[1]!] === filter[2]);
    else {
      const name = part.replace(/^\.|^\[['"]?|['"]?\]$/g, '').replaceAll('\\', '');
      value = name === '' ? value : (value as Record<string, unknown>)[name];
    }
  }
  return value;
}

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  priority: 0,
  read: ({ metadata }) => metadata.name,
};
export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  priority: 0,
  read: ({ metadata }, now) => formatAge(metadata.creationTimestamp, now),
};

/** `5s`, `3m10s`, `4h`, `12d`: as kubectl prints ages. */
export function formatAge(since: unknown, now: Date): string {
  const from = Date.parse(String(since));
  if (Number.isNaN(from)) return '<unknown>';
  const seconds = Math.max(0, Math.floor((now.getTime() - from) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
