/**
 * What an engine leaves out of a request without an error (docs/api.md, "Parameters that the engine ignores"). By the sources of
 * llama.cpp's server, build 11669, and by its answers. Pure.
 */
import { traitsOf } from '../../api/engine-traits.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import type { ApiError } from '../http/error-response.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { isClientTool } from './hosted-tools.ts';

/** What is known of the engine. */
export interface KnownEngine {
  preset: string;
  /** Whether its chat template has tools; null until it responds. */
  takesTools(): boolean | null;
}

/** Where requests of a route have JSON Schemas. */
interface SchemaSource {
  /** How it is named to the client. */
  param: string;
  list(body: JSONObject): unknown[];
}

/** Subschemas of a request that are read: beyond that, nothing is known. */
const MAX_NODES = 500;
/** Bytes of a member whose schemas are read: the names of one large object alone take seconds to list. */
const MAX_MEMBER_BYTES = 256 * 1024;

const TOOLS: SchemaSource = {
  param: 'tools',
  list: ({ tools }) => (Array.isArray(tools) ? tools.slice(0, MAX_NODES).map(readToolSchema) : []),
};
const RESPONSE_FORMAT: SchemaSource = {
  param: 'response_format',
  list: ({ response_format: format }) => [isObject(format) && readFormatSchema(format)],
};

const SOURCES: Readonly<Record<string, readonly SchemaSource[]>> = {
  '/v1/chat/completions': [RESPONSE_FORMAT, TOOLS],
  '/v1/responses': [TOOLS],
  '/v1/messages': [TOOLS],
};

function readFormatSchema({ type, schema, json_schema: named }: JSONObject): unknown {
  if (type === 'json_object') return schema;
  return type === 'json_schema' && isObject(named) ? named.schema : undefined;
}

function readToolSchema(tool: unknown): unknown {
  if (!isObject(tool)) return undefined;
  const { function: named, parameters, input_schema: input } = tool;
  return isObject(named) ? named.parameters : (parameters ?? input);
}

/** Names for the client, none if the engine is not known to ignore anything. */
export function listIgnored(body: JsonBody, path: string, { preset, takesTools }: KnownEngine): string[] {
  if (!traitsOf(preset).ignoresParameters) return [];
  const sources = SOURCES[path];
  if (!sources) return [];
  const { text, tool_choice: choice } = body.value;
  const lacksTools = hasTools(body.value, path) && takesTools() === false;
  const names = lacksTools ? ['tools', ...(isChoice(choice) ? ['tool_choice'] : [])] : [];
  // It reads no format of a response at all.
  if (path === '/v1/responses' && isObject(text) && isConstrained(text.format)) names.push('text.format');
  const budget = { nodes: MAX_NODES };
  for (const { param, list } of sources) {
    if ((param === 'tools' && lacksTools) || isLarge(body, param)) continue;
    const found = new Set<string>();
    for (const schema of list(body.value)) collectIgnored(schema, found, budget);
    for (const keyword of found) names.push(`${param}.${keyword}`);
  }
  return names;
}

/** Whether the engine has yet to report if it ignores the tools of a request. */
export const isReportAwaited = (
  body: JSONObject,
  path: string,
  { preset, takesTools }: KnownEngine,
): boolean =>
  traitsOf(preset).ignoresParameters &&
  SOURCES[path] !== undefined &&
  hasTools(body, path) &&
  takesTools() === null;

/** Whether the engine is sent any: those that only a server could run are left out of a response's request. */
const hasTools = ({ tools }: JSONObject, path: string): boolean =>
  Array.isArray(tools) &&
  (path === '/v1/responses' ? tools.filter(isObject).some(isClientTool) : tools.length > 0);

function isLarge(body: JsonBody, param: string): boolean {
  if (body.raw.length <= MAX_MEMBER_BYTES) return false;
  for (const { name, start, end } of body.members())
    if (name === param && end - start > MAX_MEMBER_BYTES) return true;
  return false;
}

export const refuseIgnored = (names: readonly string[], preset: string): ApiError =>
  refuseParameter(
    'unsupported_parameter',
    names[0]!.split('.')[0]!,
    `Unsupported: ${names.slice(0, 10).join(', ')}. The engine of this deployment (${preset}) would ignore it: omit it.`,
  );

/** Anthropic's is always an object. */
function isChoice(choice: unknown): boolean {
  const name = isObject(choice) ? choice.type : choice;
  return name !== undefined && name !== null && name !== 'none' && name !== 'auto';
}

const isConstrained = (format: unknown): boolean => isObject(format) && format.type !== 'text';

/** Keywords without any effect on the grammar that llama.cpp makes of a schema. */
const WITHOUT_EFFECT: readonly string[] = [
  'multipleOf',
  'not',
  'uniqueItems',
  'contains',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'if',
  'dependentRequired',
  'dependentSchemas',
];
const BOUNDS: readonly string[] = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const FORMAT = /^(date|time|date-time|uuid[1-5]?)$/;
const LOOK_AROUND = /\(\?[^:]/;

/** Members that hold a subschema, several, or several by name. */
const LISTS: readonly string[] = ['items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'];
const MAPS: readonly string[] = ['properties', '$defs', 'definitions'];

function collectIgnored(schema: unknown, found: Set<string>, budget: { nodes: number }): void {
  const open: JSONObject[] = [];
  const add = (value: unknown): void => {
    // No more than will be read.
    if (isObject(value) && open.length < budget.nodes) open.push(value);
  };
  add(schema);
  while (open.length > 0 && budget.nodes > 0) {
    const node = open.pop()!;
    budget.nodes--;
    readNode(node, found);
    for (const name of LISTS) {
      const value = node[name];
      if (Array.isArray(value)) value.forEach(add);
      else add(value);
    }
    for (const name of MAPS) if (isObject(node[name])) Object.values(node[name]).forEach(add);
  }
}

function readNode(node: JSONObject, found: Set<string>): void {
  const { type, pattern, format } = node;
  for (const name of WITHOUT_EFFECT) if (node[name] !== undefined) found.add(name);
  if (!isInteger(type)) for (const name of BOUNDS) if (node[name] !== undefined) found.add(name);
  if (typeof pattern === 'string' && !isPatternKept(pattern)) found.add('pattern');
  if (typeof format === 'string' && mayBeString(type) && !FORMAT.test(format)) found.add('format');
}

/** A list of types is read as one schema for each. */
const isInteger = (type: unknown): boolean =>
  Array.isArray(type) ? type.includes('integer') && !type.includes('number') : type === 'integer';
const mayBeString = (type: unknown): boolean =>
  Array.isArray(type) ? type.includes('string') : type === undefined || type === 'string';

/** One that is anchored at both ends, and has no look-around. */
const isPatternKept = (pattern: string): boolean =>
  pattern.startsWith('^') && pattern.endsWith('$') && !LOOK_AROUND.test(pattern);
