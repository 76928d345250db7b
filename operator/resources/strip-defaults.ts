/** A spec without schema defaults: what a person wrote, whichever version reads it. */

import { z } from 'zod';
import { isObject } from '../../kit/json.ts';
import { stableStringify } from '../../kube/object.ts';

/** Defaults of each schema, as text. */
const filledIn = new WeakMap<z.ZodType, string>();

/** Undefined if nothing is left. */
export function stripDefaults(schema: z.ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return stripDefaults(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodPipe) return stripDefaults(schema.in as z.ZodType, value);
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const inner = schema.def.innerType as z.ZodType;
    const written = stripDefaults(inner, value);
    if (!filledIn.has(schema))
      filledIn.set(schema, stableStringify(stripDefaults(inner, inner.parse(schema.def.defaultValue))));
    return stableStringify(written) === filledIn.get(schema) ? undefined : written;
  }
  if (schema instanceof z.ZodObject && isObject(value)) {
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
