/** Readers of a request's fields; null counts as absent, as in vLLM. */
import { refuse, refuseField } from './errors.ts';

export type Fields = Record<string, unknown>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface Range {
  min: number;
  max: number;
}

export function readInteger(fields: Fields, name: string, range: Range): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw refuseField([name], 'Input should be a valid integer');
  if (value < range.min) throw refuse(`${name} must be at least ${range.min}, got ${value}.`, name);
  if (value > range.max) throw refuse(`${name} must be at most ${range.max}, got ${value}.`, name);
  return value;
}

export function readNumber(fields: Fields, name: string, range: Range): number | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'number') throw refuseField([name], 'Input should be a valid number');
  if (value < range.min || value > range.max)
    throw refuse(`${name} must be in [${range.min}, ${range.max}], got ${value}.`, name);
  return value;
}

export function readBoolean(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== 'boolean') throw refuseField([name], 'Input should be a valid boolean');
  return value;
}

export function readObject(fields: Fields, name: string): Fields | undefined {
  const value = fields[name] ?? undefined;
  if (value !== undefined && !isObject(value))
    throw refuseField([name], 'Input should be a valid dictionary');
  return value;
}

export function readList(fields: Fields, name: string): unknown[] | undefined {
  const value = fields[name] ?? undefined;
  if (value !== undefined && !Array.isArray(value)) throw refuseField([name], 'Input should be a valid list');
  return value;
}

/** One of `allowed`, or undefined when absent. */
export function readChoice<T extends string>(
  fields: Fields,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (!allowed.includes(value as T)) throw refuseField([name], `Input should be ${allowed.join(' or ')}`);
  return value as T;
}
