/** docs/resources.md: every field of the five resources, from the schemas of which the CRDs are made. */
import { z } from 'zod';
import { cel, type ResourceDefinition } from '../../api/kubernetes-types.ts';
import { code, escapeText, formatTable, NOTICE } from './markdown.ts';
import { formatAllowed, formatType, listRules, type Schema } from './schema-text.ts';

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
  return `## ${kind}

\`${plural}\`, in short ${names}.
${writeRules(cel(...rules))}${sections.map(writeSection).join('')}`;
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
  const about = schema.description ? `\n${escapeText(schema.description)}\n` : '';
  return `\n### ${path}\n${about}${writeRules(schema)}\n${formatFields(path, listRows(path, schema))}`;
}

function writeRules(schema: Schema): string {
  const rules = listRules(schema).map((rule) => `- ${escapeText(rule)}\n`);
  return rules.length > 0 ? `\n${rules.join('')}` : '';
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

function formatDefault({ default: value, properties }: Schema, isRequired: boolean): string {
  if (value === undefined || (properties && JSON.stringify(value) === '{}'))
    return isRequired ? 'required' : '';
  return code(JSON.stringify(value));
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
