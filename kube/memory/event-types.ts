/** Events, which two API groups show: kept as `events.k8s.io` has them, read as the core group has them. */
import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import type { ResourceType } from './resource-type.ts';
import { type Column, formatAge } from './table.ts';

const COMMON = {
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  namespaced: true,
  hasStatus: false,
} as const;

interface Stored extends KubeObject {
  regarding?: { kind?: string; name?: string };
  series?: { count?: number; lastObservedTime?: string };
  eventTime?: string;
}

const lastSeen = ({ series, eventTime, metadata }: Stored): string | undefined =>
  series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp;

const columns: readonly Column[] = [
  ['Last Seen', (event: Stored, now: Date) => formatAge(lastSeen(event), now)],
  ['Type', (event: Stored) => event.type],
  ['Reason', (event: Stored) => event.reason],
  [
    'Object',
    ({ regarding = {} }: Stored) => `${regarding.kind?.toLowerCase() ?? ''}/${regarding.name ?? ''}`,
  ],
  ['Message', (event: Stored) => event.note],
].map(([name, read]) => ({ name, type: 'string', priority: 0, read }) as Column);

export const events: ResourceType = { ...COMMON, group: 'events.k8s.io', version: 'v1', columns };

export const eventsOfCore: ResourceType = {
  ...COMMON,
  group: '',
  version: 'v1',
  columns: columns.map((column) => ({ ...column, read: (event, now) => column.read(toStored(event), now) })),
  view: { of: 'events.events.k8s.io', read: toCore, write: toStored },
};

function toCore(stored: KubeObject): KubeObject {
  const { regarding, note, series, eventTime, ...rest } = stored as Stored & { note?: string };
  const reporting = rest.reportingController as string | undefined;
  const source = (rest.deprecatedSource as object | undefined) ?? (reporting ? { component: reporting } : {});
  return {
    ...rest,
    apiVersion: 'v1',
    involvedObject: regarding ?? {},
    message: note,
    source,
    reportingComponent: reporting ?? '',
    firstTimestamp: toSeconds(rest.deprecatedFirstTimestamp ?? eventTime ?? rest.metadata.creationTimestamp),
    lastTimestamp: toSeconds(rest.deprecatedLastTimestamp ?? lastSeen(stored as Stored)),
    count: (rest.deprecatedCount as number | undefined) ?? series?.count ?? 1,
    eventTime: eventTime ?? null,
    ...(series ? { series } : {}),
  };
}

const toSeconds = (time: unknown): string | undefined =>
  typeof time === 'string' ? time.replace(/\.\d+Z$/, 'Z') : undefined;

function toStored(event: KubeObject): KubeObject {
  const {
    involvedObject,
    message,
    source,
    firstTimestamp,
    lastTimestamp,
    count,
    reportingComponent,
    ...rest
  } = event;
  if (involvedObject === undefined) return event;
  const component = isObject(source) ? source.component : undefined;
  return {
    ...rest,
    apiVersion: 'events.k8s.io/v1',
    regarding: involvedObject,
    note: message,
    reportingController: reportingComponent || component,
    deprecatedSource: source,
    deprecatedFirstTimestamp: firstTimestamp,
    deprecatedLastTimestamp: lastTimestamp,
    deprecatedCount: count,
    ...(rest.eventTime === null ? { eventTime: undefined } : {}),
  };
}
