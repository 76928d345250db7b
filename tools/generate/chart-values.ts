/** The chart's values: keys, defaults and descriptions are those of values.yaml; what a default does not show is here. */
import { readFileSync } from 'node:fs';
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { ROUTE_PRESETS, ROUTE_VIA } from '../../api/model-route.ts';
import { SECURITY_PLATFORMS } from '../../operator/resources/security.ts';
import {
  POD_FIELD_GROUPS,
  PULL_POLICIES,
  REDIS_USER_MODES,
  URL_SCHEMES,
} from '../../operator/resources/settings.ts';
import { WEEKDAYS } from '../../operator/sidecar/settings.ts';
import type { Schema } from './schema-text.ts';

export interface ChartValue {
  /** As in `--set`. */
  path: string;
  /** undefined: a group of values. */
  schema: Schema | undefined;
  default: unknown;
  /** Empty: its group's description says it. */
  description: string;
}

const string = (pattern: string): Schema => ({ type: 'string', pattern });
const integer = (minimum: number, maximum?: number): Schema => ({
  type: 'integer',
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
});
const number = (minimum: number, maximum: number): Schema => ({ type: 'number', minimum, maximum });
const oneOf = (...values: readonly string[]): Schema => ({ enum: values });
const listOf = (items: Schema, more: Schema = {}): Schema => ({
  type: 'array',
  items,
  ...more,
});

const ORIGIN = '^$|^https?://[^/?#]+/?$';
const HOST = '[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';
const DURATION = '([0-9]+(ms|s|m|h|d))';
const TIME = string('^(([01][0-9]|2[0-3]):[0-5][0-9])?$');

/** Values whose default does not show all that is allowed. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  'image.pullPolicy': oneOf(...PULL_POLICIES),
  documentationURL: string('^(https?://[^#?]+)?$'),
  'ingress.domain': string(`^${HOST}`),
  'ingress.scheme': oneOf(...URL_SCHEMES),
  'ingress.port': { ...integer(1, 65_535), type: ['integer', 'null'] },
  'ingress.preset': oneOf(...ROUTE_PRESETS),
  'ingress.via': oneOf(...ROUTE_VIA),
  'securityContext.platform': oneOf(...SECURITY_PLATFORMS),
  'podFields.everyone': listOf(oneOf(...POD_FIELD_GROUPS), { uniqueItems: true }),
  'operator.modelHub': string('^(https?://.+)?$'),
  'front.limits.promptCharacters': integer(1, 1_000_000),
  'front.holds.total': integer(0, 100_000),
  'front.holds.perDeployment': integer(0, 100_000),
  'console.publicURL': string('^$|^https?://[^/?#@ ]+$'),
  'console.oidc.issuer': string('^$|^https://[^?#@ ]+$'),
  'console.oidc.scopes': listOf(string('^[^ ,]+$'), { contains: { const: 'openid' } }),
  'console.route.type': oneOf('Ingress', 'HTTPRoute'),
  'console.route.host': string(`^$|^${HOST}`),
  'console.route.parentRefs': listOf({ type: 'object' }),
  'storage.bucket': string('^$|^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$'),
  'storage.endpoint': string(ORIGIN),
  'storage.publicEndpoint': string(ORIGIN),
  'storage.region': string('^[A-Za-z0-9-]{1,64}$'),
  'storage.prefix': { ...string('^$|^[A-Za-z0-9_-][A-Za-z0-9._/-]*$'), not: { pattern: '\\.\\.|//' } },
  'mail.from': string('^$|^[^\\r\\n]*[^@\\s<>]+@[^@\\s<>]+>?$'),
  'sidecarRollout.maxConcurrent': { anyOf: [integer(1), string('^([1-9][0-9]?|100)%$')] },
  'sidecarRollout.window.days': listOf(oneOf(...WEEKDAYS)),
  'sidecarRollout.window.from': TIME,
  'sidecarRollout.window.to': TIME,
  'sidecarRollout.window.timeZone': { type: 'string', minLength: 1 },
  'sidecarRollout.stop.failedPercent': number(0, 100),
  'sidecarRollout.stop.period': string(`^${DURATION}+$`),
  'sidecarRollout.stop.observe': string(`^${DURATION}+$`),
  'sidecarRollout.stop.readyTimeout': string(`^${DURATION}*$`),
  'sidecarRollout.stop.errorIncrease': number(0, 100),
  'engines.images': { type: 'object', additionalProperties: { type: 'string' } },
  'downloads.env': { type: 'array' },
  'redis.users': oneOf(...REDIS_USER_MODES),
  'redis.workspaceShare': integer(1, 100),
  'redis.durability': oneOf('everysec', 'strict'),
  'redis.external.url': string('^$|^rediss?(\\+sentinel)?://'),
  'tracing.endpoint': string(ORIGIN),
  'tracing.sampleRatio': number(0, 1),
};

/** The same wherever they stand. */
const SCHEMAS_BY_NAME: Readonly<Record<string, Schema>> = {
  logLevel: oneOf('trace', 'debug', 'info', 'warn', 'error'),
  type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
  tolerations: { type: 'array' },
  resources: { type: 'object' },
  annotations: { type: 'object' },
  labels: { type: 'object' },
};

/** Kubernetes' own fields, which values.yaml does not explain. */
const DESCRIPTIONS_BY_NAME: Readonly<Record<string, string>> = {
  logLevel: 'Least severe level that is logged.',
  resources: 'Requests and limits of the container.',
  nodeSelector: 'Labels that a node must have.',
  tolerations: 'Taints of nodes that the pods tolerate.',
  affinity: 'Affinity of the pods; they are spread across nodes in any case.',
  podAnnotations: 'Annotations of the pods.',
  priorityClassName: "Priority class of the pods; the cluster's default if empty.",
  type: 'Type of the Service.',
  annotations: 'Annotations of the object.',
  labels: 'Labels of the object.',
};

/** Every value and group of values, in the order of values.yaml. */
export function listChartValues(): ChartValue[] {
  const document = parseDocument(readFileSync('charts/berth/values.yaml', 'utf8'));
  return listValues('', document.contents as YAMLMap);
}

function listValues(prefix: string, map: YAMLMap): ChartValue[] {
  return map.items.flatMap(({ key, value }, index) => {
    if (!isScalar(key)) throw new Error(`a key of ${prefix} is no name`);
    const name = String(key.value);
    const path = prefix + name;
    // The comment above a first key belongs to its map.
    const comment = index === 0 && prefix ? map.commentBefore : key.commentBefore;
    const description = readComment(comment);
    const given = SCHEMAS[path] ?? SCHEMAS_BY_NAME[name];
    if (isMap(value) && value.items.length > 0 && !given)
      return [
        { path, schema: undefined, default: undefined, description },
        ...listValues(`${path}.`, value as YAMLMap),
      ];
    const initial = isMap(value) || !isScalar(value) ? (value as YAMLMap).toJSON() : value.value;
    return [
      {
        path,
        schema: given ?? inferSchema(initial),
        default: initial,
        description: description || (DESCRIPTIONS_BY_NAME[name] ?? ''),
      },
    ];
  });
}

/** Without the dashes that mark the description of a value. */
const readComment = (comment: string | null | undefined): string =>
  (comment ?? '')
    .split('\n')
    .map((line) => line.trim().replace(/^-- /, ''))
    .join(' ')
    .trim();

function inferSchema(value: unknown): Schema {
  if (Array.isArray(value)) return listOf({ type: 'string' });
  if (typeof value === 'number') return integer(1);
  return { type: typeof value };
}

interface Group {
  type: 'object';
  additionalProperties: false;
  properties: Record<string, Group | Schema>;
}

const createGroup = (): Group => ({ type: 'object', additionalProperties: false, properties: {} });

/** charts/berth/values.schema.json: Helm refuses values that it does not allow. */
export function writeValuesSchema(): string {
  const root = createGroup();
  const groups = new Map<string, Group>([['', root]]);
  for (const { path, schema } of listChartValues()) {
    const cut = path.lastIndexOf('.');
    const parent = groups.get(path.slice(0, Math.max(cut, 0)))!;
    const group = createGroup();
    if (!schema) groups.set(path, group);
    parent.properties[path.slice(cut + 1)] = schema ?? group;
  }
  // Helm itself adds the values of parent charts.
  root.properties.global = { type: 'object' };
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...root }, null, 2)}\n`;
}
