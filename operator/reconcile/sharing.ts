/** Lets what was parsed from an object use the object's own parts where they are equal, rather than be a copy of it. */
import { isDeepStrictEqual } from 'node:util';

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
