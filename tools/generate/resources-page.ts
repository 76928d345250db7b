/** docs/resources.md: every field of the five resources, from the schemas of which the CRDs are made. */
import { z } from 'zod';
import type { CelRule, ResourceDefinition } from '../../api/kubernetes-types.ts';
import { code, formatTable, NOTICE } from './markdown.ts';

interface Schema {
  type?: string;
  anyOf?: Schema[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  default?: unknown;
  enum?: unknown[];
  format?: string;
  pattern?: string;
  /** What the pattern means, in words. */
  patternText?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  'x-kubernetes-validations'?: CelRule[];
}

const COLUMNS = ['Field', 'Type', 'Default', 'Allowed', 'Description'];
/** The operator alone writes it: nothing is a default there, or required. */
const STATUS_COLUMNS = ['Field', 'Type', 'Description'];

export function writeResourcesPage(resources: ResourceDefinition[]): string {
  return `${NOTICE}
# Resources

All fields of Berth's custom resources, \`berth.dev/v1alpha1\`. \`kubectl explain md.spec\` shows the same in a cluster.
The API server refuses an object that breaks a rule of the column "Allowed". Durations are such as \`30s\`, \`20m\` or \`1h30m\`, quantities
such as \`512Mi\` or \`8Gi\`, prices decimals such as \`0.04\`. What the conditions in \`status\` mean is in [Conditions](conditions.md).

${resources.map(writeResource).join('\n')}`;
}

function writeResource(resource: ResourceDefinition): string {
  const { kind, plural, shortNames, rules = [] } = resource;
  const sections = listSections(readSchema(resource.spec), readSchema(resource.status));
  const names = shortNames.map(code).join(', ');
  const own = rules.map((rule) => `- ${formatRule(rule)}\n`).join('');
  return `## ${kind}

\`${plural}\`, in short ${names}.
${own && `\n${own}`}${sections.map((section) => writeSection(section)).join('')}`;
}

interface Section {
  path: string;
  schema: Schema;
}

/** Objects directly below spec have a section of their own; all else is in that of spec or status. */
function listSections(spec: Schema, status: Schema): Section[] {
  const groups = Object.entries(spec.properties!).filter(([, child]) => child.properties);
  const plain = Object.entries(spec.properties!).filter(([, child]) => !child.properties);
  return [
    { path: 'spec', schema: { ...spec, properties: Object.fromEntries(plain) } },
    ...groups.map(([name, schema]) => ({ path: `spec.${name}`, schema })),
    { path: 'status', schema: status },
  ];
}

function writeSection({ path, schema }: Section): string {
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule) => `- ${formatRule(rule)}\n`).join('');
  const about = schema.description ? `\n${schema.description}\n` : '';
  return `\n### ${path}\n${about}${rules && `\n${rules}`}\n${formatFields(path, listRows(path, schema))}`;
}

const formatFields = (path: string, rows: string[][]): string =>
  path === 'status'
    ? formatTable(
        STATUS_COLUMNS,
        rows.map(([field, type, , , description]) => [field!, type!, description!]),
      )
    : formatTable(COLUMNS, rows);

function listRows(path: string, { properties = {}, required = [] }: Schema): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const own = `${path}.${name}`;
    const description = field.description || field.items?.description;
    if (!description) throw new Error(`${own} has no description: add one in api/`);
    const row = [
      code(own),
      formatType(field),
      formatDefault(field, required.includes(name)),
      formatAllowed(field),
      description,
    ];
    return [row, ...listRows(own, field), ...listRows(`${own}[]`, field.items ?? {})];
  });
}

function formatType({ type, anyOf, format, items, additionalProperties }: Schema): string {
  if (anyOf) return anyOf.map(formatType).join(' or ');
  if (items) return `list of ${formatType(items)}`;
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    return `map of ${formatType(additionalProperties)}`;
  return format === 'date-time' ? 'time' : (type ?? 'any');
}

function formatDefault({ default: value, properties }: Schema, isRequired: boolean): string {
  if (value === undefined || (properties && JSON.stringify(value) === '{}'))
    return isRequired ? 'required' : '';
  return code(JSON.stringify(value));
}

function formatAllowed(schema: Schema): string {
  const { items, minItems = 0, maxItems } = schema;
  const count =
    maxItems === undefined ? [] : [`${minItems > 0 ? `${minItems} to` : 'at most'} ${maxItems} items`];
  const each = items ? listLimits(items).join(', ') : '';
  return [
    ...listLimits(schema),
    ...count,
    ...(each ? [items?.properties ? each : `each: ${each}`] : []),
  ].join('; ');
}

/** Defaults of integers' bounds in JSON Schema, which no field has chosen. */
const isChosen = (bound: number | undefined) =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

function listLimits(schema: Schema): string[] {
  const { minLength = 0, maxLength, patternText, pattern, format } = schema;
  const limits: string[] = [];
  if (schema.enum) limits.push(schema.enum.map((value) => code(String(value))).join(', '));
  if (isChosen(schema.minimum))
    limits.push(`${schema.exclusiveMinimum ? 'above' : 'at least'} ${schema.minimum}`);
  if (isChosen(schema.maximum))
    limits.push(`${schema.exclusiveMaximum ? 'below' : 'at most'} ${schema.maximum}`);
  if (patternText) limits.push(patternText);
  else if (pattern && format !== 'date-time') limits.push(code(pattern));
  if (maxLength !== undefined)
    limits.push(`${minLength > 0 ? `${minLength} to` : 'at most'} ${maxLength} characters`);
  else if (minLength > 0) limits.push('not empty');
  const rules = (schema['x-kubernetes-validations'] ?? []).map(formatRule);
  return [...limits, ...rules].map((limit) => limit.replace(/^must be /, ''));
}

function formatRule({ message, rule }: CelRule): string {
  if (!message) throw new Error(`the rule ${rule} has no message`);
  return message;
}

/** The schema's JSON, with the words of the checks by patterns. */
const readSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const { checks = [] } = zodSchema._zod.def as { checks?: z.core.$ZodCheck[] };
      for (const { _zod: check } of checks)
        if (check.def.check === 'string_format' && check.def.error)
          Object.assign(jsonSchema, { patternText: check.def.error({} as never) });
    },
  }) as Schema;
