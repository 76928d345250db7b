/** Schemas that vLLM's grammar refuses; it ignores other keywords that it does not know. */
import { EngineError } from './errors.ts';
import { isObject } from './fields.ts';

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];
const UNIMPLEMENTED = ['uniqueItems', 'contains', 'minContains', 'maxContains'];
const FORMATS = ['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'];

/** Throws an EngineError. */
export function checkSchema(schema: unknown): void {
  if (Array.isArray(schema)) for (const each of schema) checkSchema(each);
  if (!isObject(schema)) return;
  const { type, format } = schema;
  if (hasUnknownType(schema)) throw refuseGrammar(`Invalid type: ${type}`);
  const unknown = UNIMPLEMENTED.filter((key) => key in schema).map((key) => `"${key}"`);
  if (unknown.length > 0) throw refuseGrammar(`Unimplemented keys: [${unknown.join(', ')}]`);
  if (typeof format === 'string' && !FORMATS.includes(format))
    throw refuseGrammar(`Unknown format: ${format}`);
  for (const key of ['items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'])
    checkSchema(schema[key]);
  for (const key of ['properties', '$defs', 'definitions'])
    if (isObject(schema[key])) for (const each of Object.values(schema[key])) checkSchema(each);
}

export const hasUnknownType = (schema: unknown): boolean =>
  isObject(schema) && typeof schema.type === 'string' && !TYPES.includes(schema.type);

const refuseGrammar = (message: string): EngineError =>
  new EngineError(400, 'BadRequestError', `Grammar error: ${message}`);
