/** A spec without schema defaults: what a person wrote, whichever version reads it. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** Defaults of each schema. */
const filledIn = new WeakMap<z.ZodType, { value: unknown }>();

/** Undefined if nothing is left. */
export function stripDefaults(schema: z.ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return stripDefaults(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodPipe) return stripDefaults(schema.in as z.ZodType, value);
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const inner = schema.def.innerType as z.ZodType;
    const written = stripDefaults(inner, value);
    const known = filledIn.get(schema) ?? {
      value: stripDefaults(inner, inner.parse(schema.def.defaultValue)),
    };
    filledIn.set(schema, known);
    return isDeepStrictEqual(written, known.value) ? undefined : written;
  }
  if (schema instanceof z.ZodObject && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const shape = schema.shape as Record<string, z.ZodType>;
    return keepDefined(
      Object.entries(value).map(([key, inner]) => [
        key,
        shape[key] ? stripDefaults(shape[key], inner) : inner,
      ]),
    );
  }
  return value;
}

/** An object that has become empty stays, since its presence can mean something (`source.none`). */
const keepDefined = (entries: [string, unknown][]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined));
