/** Types of CEL for structural schemas, and the values that rules read: integers as bigint, objects as instances of their type. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import type { CelEnvironment } from './cel-environment.ts';
import type { Schema } from './schema.ts';

export interface CelType {
  /** As in the signatures of functions. */
  name: string;
  /** Converts a value that is valid by the schema. */
  convert(value: unknown): unknown;
  properties?: ReadonlyMap<string, CelType>;
  /** The type of a list's items, or of a map's values. */
  items?: CelType;
}

const same = (value: unknown): unknown => value;
const toNumber = (value: unknown): unknown => (Number.isInteger(value) ? BigInt(value as number) : value);

const SCALARS: Readonly<Record<string, CelType>> = {
  string: { name: 'string', convert: same },
  boolean: { name: 'bool', convert: same },
  integer: { name: 'int', convert: toNumber },
  number: { name: 'double', convert: same },
};
const TIMESTAMP: CelType = {
  name: 'google.protobuf.Timestamp',
  convert: (value) => new Date(value as string),
};
const INTEGER_OR_STRING: CelType = { name: 'dyn', convert: toNumber };

/** What rules may read of any object, whatever its schema. */
const TEXT: Schema = { type: 'string' };
export const OBJECT_FIELDS: Readonly<Record<string, Schema>> = {
  apiVersion: TEXT,
  kind: TEXT,
  metadata: { type: 'object', properties: { name: TEXT, generateName: TEXT } },
};

/** Declares the types of a schema and of all in it. Undefined for values of unknown fields, which rules cannot read. */
export function declareType(
  environment: CelEnvironment,
  schema: Schema | undefined,
  name: string,
): CelType | undefined {
  if (!schema) return undefined;
  if (schema['x-kubernetes-int-or-string']) return INTEGER_OR_STRING;
  if (schema.type === 'string' && schema.format === 'date-time') return TIMESTAMP;
  if (schema.type === 'array') return listOf(declareType(environment, schema.items, `${name}.items`));
  if (schema.type !== 'object') return SCALARS[schema.type ?? ''];
  if (isObject(schema.additionalProperties))
    return mapOf(declareType(environment, schema.additionalProperties, `${name}.values`));
  return declareObject(environment, schema.properties ?? {}, name);
}

const listOf = (item: CelType | undefined): CelType | undefined =>
  item && {
    name: `list<${item.name}>`,
    items: item,
    convert: (value) => (value as unknown[]).map(item.convert),
  };

const mapOf = (item: CelType | undefined): CelType | undefined =>
  item && {
    name: `map<string, ${item.name}>`,
    items: item,
    convert: (value) =>
      new Map(Object.entries(value as object).map(([key, inner]) => [key, item.convert(inner)])),
  };

function declareObject(
  environment: CelEnvironment,
  properties: Readonly<Record<string, Schema>>,
  name: string,
): CelType {
  const types = new Map<string, CelType>();
  for (const [property, schema] of Object.entries(properties)) {
    const type = declareType(environment, schema, `${name}.${property}`);
    if (type) types.set(property, type);
  }
  // One class for each type: the library finds the type of a value by its constructor.
  const ctor = class {};
  const fields = Object.fromEntries([...types].map(([property, type]) => [property, type.name]));
  environment
    .registerType(name, { ctor, fields })
    .registerOperator(`${name} == ${name}`, (a, b) => isDeepStrictEqual(a, b));
  const convert = (value: unknown) => {
    const present = Object.entries(value as object).filter(([, inner]) => inner !== null);
    const converted = present.flatMap(([property, inner]) => {
      const type = types.get(property);
      return type && inner !== undefined ? [[property, type.convert(inner)]] : [];
    });
    return Object.assign(new ctor(), Object.fromEntries(converted));
  };
  return { name, convert, properties: types };
}
