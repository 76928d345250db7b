/** A field that is a JSON object, within limits. */
import { isObject } from '../../kit/json.ts';

const MAX_OBJECT_CHARACTERS = 16 * 1024;
const MAX_OBJECT_VALUES = 1024;
const MAX_OBJECT_DEPTH = 8;

/** Completes "must be …". */
export const OBJECT_ALLOWED = `a JSON object of at most ${MAX_OBJECT_CHARACTERS} characters, ${MAX_OBJECT_VALUES} values and ${MAX_OBJECT_DEPTH} levels, with integers up to ${Number.MAX_SAFE_INTEGER}`;

export class KeptObject {
  readonly object: Record<string, unknown>;

  constructor(object: Record<string, unknown>) {
    this.object = object;
  }

  toJSON(): unknown {
    return this.object;
  }
}

/** For one that is too large, only its type. */
export const keepObject = (value: unknown): unknown =>
  isObject(value) && isInBounds(value) ? new KeptObject(value) : dropContent(value);

export function parseObject(text: string): Record<string, unknown> | null {
  if (text.length > MAX_OBJECT_CHARACTERS) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && isInBounds(value) ? value : null;
  } catch {
    return null;
  }
}

/** As it is, if it is no object. */
export function canonicalize(text: string): string {
  const object = parseObject(text);
  return object ? JSON.stringify(object) : text;
}

/** Reads no more than it allows. */
function isInBounds(object: Record<string, unknown>): boolean {
  let values = 0;
  let characters = 0;
  const fits = (value: unknown, depth: number): boolean => {
    if (++values > MAX_OBJECT_VALUES || depth > MAX_OBJECT_DEPTH) return false;
    if (typeof value === 'string') characters += value.length;
    if (isRounded(value)) return false;
    if (typeof value !== 'object' || value === null) return characters <= MAX_OBJECT_CHARACTERS;
    for (const name in value) {
      if (!Array.isArray(value)) characters += name.length;
      if (!fits((value as Record<string, unknown>)[name], depth + 1)) return false;
    }
    return true;
  };
  return fits(object, 0);
}

export function dropContent(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return typeof value === 'object' && value !== null ? {} : value;
}

/** Probably a 64-bit integer, of which JavaScript has only the nearest double. */
const isRounded = (value: unknown): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) <= 2 ** 64;
