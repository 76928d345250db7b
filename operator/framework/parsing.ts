/** Reads custom resources by their schemas: one that does not fit is reported, never thrown. */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { FIELD_WORDS } from '../../api/field-words.ts';
import type { ObjectMeta } from '../../api/kubernetes-types.ts';

/** A custom resource as the API server gave it. */
export interface RawObject {
  apiVersion?: string;
  kind?: string;
  metadata: Pick<ObjectMeta, 'name' | 'namespace'> & Partial<ObjectMeta>;
  spec?: unknown;
  status?: unknown;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

const MAX_ISSUES = 5;

/** The object with all defaults, or what is wrong with it, field by field. */
export function parseObject<T>(schema: z.ZodType<T>, object: unknown): Parsed<T> {
  // The spec of an object that is not kept is the reason for that (object-budget.ts).
  const { spec } = object as RawObject;
  if (typeof spec === 'string') return { ok: false, message: spec };
  const result = schema.safeParse(object, FIELD_WORDS);
  if (result.success) return { ok: true, value: result.data };
  const issues = result.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${path.map(String).join('.') || 'object'}: ${message}`);
  const more = result.error.issues.length - issues.length;
  return { ok: false, message: issues.join('; ') + (more > 0 ? `; and ${more} more` : '') };
}

/** `parsed` with every part replaced by its equal in `source`; what differs stays. */
export function shareEqualParts<T>(parsed: T, source: unknown): T {
  if (typeof parsed !== 'object' || parsed === null || typeof source !== 'object' || source === null)
    return parsed;
  if (isDeepStrictEqual(parsed, source)) return source as T;
  if (Array.isArray(parsed)) return parsed;
  const parts = source as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [name, shareEqualParts(value, parts[name])]),
  ) as T;
}
