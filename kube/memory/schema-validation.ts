/** Validates custom objects by their structural schema and its rules, in the words of the API server. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import type { KubeObject } from '../object.ts';
import { checkRules, compileRules, type RuleTree } from './cel-rules.ts';
import { findListItem, type Schema } from './schema.ts';
import { type ErrorType, fieldError, type StatusCause } from './status-error.ts';
import { readJSONPath } from './table.ts';

export type ObjectValidator = (
  object: KubeObject,
  before: KubeObject | undefined,
  subresource: string | undefined,
) => StatusCause[];

/** Errors after which the API server checks no rules. */
const BLOCKING = new Set<string | undefined>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const NOT_CHECKED = fieldError(
  'FieldValueInvalid',
  '',
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  null,
);

/** Rules are compiled with the first object. */
export function createObjectValidator(
  schema: Schema,
  kind: string,
  scale: { specReplicasPath: string } | undefined,
): ObjectValidator {
  let compiled: { tree: RuleTree | undefined } | undefined;
  return (object, before, subresource) => {
    compiled ??= { tree: compileRules(schema, kind) };
    const causes =
      subresource === 'status'
        ? validate(object.status, schema.properties?.status ?? {}, 'status', before?.status)
        : [...validate(object, schema, '', before), ...validateReplicas(object, scale?.specReplicasPath)];
    if (!compiled.tree) return causes;
    if (causes.some(({ reason }) => BLOCKING.has(reason))) return [...causes, NOT_CHECKED];
    return [...causes, ...checkRules(compiled.tree, object, before)];
  };
}

/** The API server checks what the scale subresource writes whatever the schema says. */
function validateReplicas(object: KubeObject, path: string | undefined): StatusCause[] {
  const value = path === undefined ? undefined : readJSONPath(object, path);
  if (path === undefined || value === undefined) return [];
  const refuse = (detail: string, shown: unknown) => [fieldError('FieldValueInvalid', path, detail, shown)];
  if (Number.isInteger(value))
    return (value as number) < 0 ? refuse('should be a non-negative integer', value) : [];
  const type = typeof value === 'number' ? 'float64' : typeof value;
  return refuse(`${path} accessor error: ${value} is of the type ${type}, expected int64`, 0);
}

/** What is as it was before is not refused: a definition may have become stricter since. */
function validate(value: unknown, schema: Schema, path: string, before?: unknown): StatusCause[] {
  if (value === undefined || (before !== undefined && isDeepStrictEqual(value, before))) return [];
  const type = findWrongType(value, schema);
  const own = [
    ...(type ? [wrongType(path, schema, type)] : []),
    ...validateScalar(value, schema, path),
    ...validateEnum(value, schema, path),
  ];
  if (Array.isArray(value)) return [...own, ...validateList(value, schema, path, before)];
  return isObject(value) ? [...own, ...validateFields(value, schema, path, before)] : own;
}

const typesOf = (schema: Schema): string[] =>
  schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : schema.type ? [schema.type] : [];

/** Its name if the schema does not allow it. */
function findWrongType(value: unknown, schema: Schema): string | undefined {
  const types = typesOf(schema);
  if (types.length === 0 || (value === null && schema.nullable)) return undefined;
  if (value === null) return 'null';
  if (Number.isInteger(value))
    return types.some((type) => type === 'integer' || type === 'number') ? undefined : 'integer';
  const own = Array.isArray(value) ? 'array' : typeof value;
  return types.includes(own) ? undefined : own;
}

const wrongType = (path: string, schema: Schema, value: string): StatusCause =>
  fieldError(
    'FieldValueTypeInvalid',
    path,
    `${path} in body must be of type ${schema.format ?? typesOf(schema).join(',')}: ${JSON.stringify(value)}`,
    value,
  );

function validateEnum(value: unknown, { enum: allowed }: Schema, path: string): StatusCause[] {
  if (!Array.isArray(allowed) || allowed.includes(value)) return [];
  const quoted = allowed.map((each) => JSON.stringify(String(each))).join(', ');
  return [fieldError('FieldValueNotSupported', path, `supported values: ${quoted}`, value)];
}

const DATE_TIME = /^\d{4}-\d\d-\d\d[tT]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([zZ]|[+-]\d\d:\d\d)$/;

function validateScalar(value: unknown, schema: Schema, path: string): StatusCause[] {
  const refuse = (words: string, type: ErrorType = 'FieldValueInvalid') => [
    fieldError(type, path, `${path} in body ${words}`, value),
  ];
  if (typeof value === 'number') {
    const isFraction = schema.type === 'integer' && !Number.isInteger(value);
    const detail = `Checked value must be of type integer (default format) in ${path}`;
    return [
      ...(isFraction ? [fieldError('FieldValueInvalid', '', detail, '')] : []),
      ...validateNumber(value, schema).flatMap((words) => refuse(words)),
    ];
  }
  if (typeof value !== 'string') return [];
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema as TextLimits;
  const length = [...value].length;
  if (length > maxLength)
    return [fieldError('FieldValueTooLong', path, `may not be more than ${count(maxLength, 'byte')}`)];
  if (length < minLength) return refuse(`should be at least ${minLength} chars long`);
  if (pattern !== undefined && !new RegExp(pattern).test(value)) return refuse(`should match '${pattern}'`);
  return format === 'date-time' && !DATE_TIME.test(value) ? [wrongType(path, schema, value)] : [];
}

interface TextLimits {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

interface NumberLimits {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
}

function validateNumber(value: number, schema: Schema): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as NumberLimits;
  const orEqual = (isExclusive: boolean | undefined) => (isExclusive ? '' : ' or equal to');
  const words: string[] = [];
  if (minimum !== undefined && (value < minimum || (exclusiveMinimum && value === minimum)))
    words.push(`should be greater than${orEqual(exclusiveMinimum)} ${minimum}`);
  if (maximum !== undefined && (value > maximum || (exclusiveMaximum && value === maximum)))
    words.push(`should be less than${orEqual(exclusiveMaximum)} ${maximum}`);
  return words;
}

const count = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? '' : 's'}`;

function validateList(list: unknown[], schema: Schema, path: string, before: unknown): StatusCause[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema as {
    minItems?: number;
    maxItems?: number;
  };
  const causes = list.flatMap((item, index) =>
    validate(item, schema.items ?? {}, `${path}[${index}]`, findListItem(schema, before, item)),
  );
  if (list.length < minItems)
    causes.push(
      fieldError(
        'FieldValueInvalid',
        path,
        `${path} in body should have at least ${minItems} items`,
        list.length,
      ),
    );
  if (list.length > maxItems)
    causes.push(
      fieldError('FieldValueTooMany', path, `must have at most ${count(maxItems, 'item')}`, list.length),
    );
  return causes;
}

function validateFields(
  object: Record<string, unknown>,
  schema: Schema,
  path: string,
  before: unknown,
): StatusCause[] {
  const old = isObject(before) ? before : {};
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const causes: StatusCause[] = [];
  for (const [name, value] of Object.entries(object)) {
    const { additionalProperties } = schema;
    const own =
      schema.properties?.[name] ?? (isObject(additionalProperties) ? additionalProperties : undefined);
    if (own) causes.push(...validate(value, own, at(name), old[name]));
  }
  for (const name of (schema.required ?? []) as string[])
    if (object[name] === undefined) causes.push(fieldError('FieldValueRequired', at(name), ''));
  return causes;
}
