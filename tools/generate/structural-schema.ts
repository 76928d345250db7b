/** Converts zod's JSON Schema to the structural schema that Kubernetes accepts. */
import { z } from 'zod';

type Schema = Record<string, unknown>;

const DROPPED = new Set(['$schema', 'propertyNames', 'id', '$id']);

/** The structural OpenAPI v3 schema of a zod schema's input. */
export function buildStructuralSchema(schema: z.ZodType): Schema {
  return rewrite(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as Schema);
}

function rewrite(schema: Schema): Schema {
  if (isIntOrString(schema)) return { ...pick(schema, ['description']), 'x-kubernetes-int-or-string': true };
  const result: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key)) continue;
    if (key === 'properties') result[key] = mapValues(value as Record<string, Schema>, rewrite);
    else if (key === 'items') result[key] = rewrite(value as Schema);
    else if (key === 'additionalProperties') addAdditionalProperties(result, schema, value);
    else if (key === 'pattern' && schema.format === 'date-time') continue;
    else if (key === 'description' && value === '') continue;
    else result[key] = value;
  }
  return result;
}

/** Kubernetes requires a schema for the values, and none beside preserve-unknown-fields or properties. */
function addAdditionalProperties(result: Schema, schema: Schema, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (schema['x-kubernetes-preserve-unknown-fields'] || schema.properties) return;
  result.additionalProperties = rewrite(value as Schema);
}

const isIntOrString = (schema: Schema): boolean => {
  const types = (schema.anyOf as Schema[] | undefined)?.map((option) => option.type);
  return (
    types?.length === 2 && types.includes('string') && (types.includes('number') || types.includes('integer'))
  );
};

const pick = (source: Schema, keys: string[]): Schema =>
  Object.fromEntries(keys.filter((key) => source[key] !== undefined).map((key) => [key, source[key]]));

const mapValues = <T, U>(source: Record<string, T>, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(source).map(([key, value]) => [key, map(value)]));
