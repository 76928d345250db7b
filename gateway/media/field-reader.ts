/** Typed values of a request's documented fields, from a JSON body or a form. */
import type { ErrorCode } from '../../api/errors.ts';
import { isObject } from '../../kit/json.ts';
import type { ApiError } from '../http/error-response.ts';
import { classifyNumber, refuseParameter, requireParameter } from '../http/parameter-error.ts';

/** Numbers in forms; nothing else that JavaScript would accept, such as `0x10` or `Infinity`. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;
const MAX_NUMBER_LENGTH = 40;
const MAX_SHOWN_CHARACTERS = 40;
/** Fields that are objects, with their limits. */
const OBJECTS: ReadonlySet<string> = new Set(['extra_params']);
/** Fields in which `1.0` says something else than `1`. */
const PROSE: ReadonlySet<string> = new Set(['prompt', 'negative_prompt']);
const MAX_OBJECT_CHARACTERS = 16 * 1024;
const MAX_OBJECT_VALUES = 1024;
const MAX_OBJECT_DEPTH = 8;

export interface Range {
  min?: number;
  max?: number;
  /** Completes "must be …", instead of the range. */
  allowed?: string;
}

/** Each method throws ApiError with `param` for a value of the wrong type. Null counts as absent; in a form, '' does, too. */
export class FieldReader {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #areTexts: boolean;

  private constructor(values: Readonly<Record<string, unknown>>, areTexts: boolean) {
    this.#values = values;
    this.#areTexts = areTexts;
  }

  /**
   * Keeps only the named members, and of lists and objects, which few fields accept, only their type. `areTexts`: values may also be
   * texts, as in a form, where the route takes either.
   */
  static ofJSON(
    body: Readonly<Record<string, unknown>>,
    names: Iterable<string> = Object.keys(body),
    { areTexts = false } = {},
  ): FieldReader {
    const values: Record<string, unknown> = {};
    for (const name of names)
      if (Object.hasOwn(body, name))
        values[name] = OBJECTS.has(name) ? keepObject(body[name]) : dropContent(body[name]);
    return new FieldReader(values, areTexts);
  }

  static ofForm(texts: ReadonlyMap<string, string>): FieldReader {
    return new FieldReader(Object.fromEntries(texts), true);
  }

  /** The present fields, each with a canonical text of its value, the same in JSON and in forms. */
  list(names: Iterable<string>): [name: string, text: string][] {
    return [...names].filter((name) => this.has(name)).map((name) => [name, this.#format(name)]);
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** `allowed`, here and below, completes "must be …" more precisely than the type; `code` sets a finer error code. */
  text(name: string, allowed = 'a string', code?: ErrorCode): string | undefined {
    const value = this.#find(name);
    if (value === undefined || typeof value === 'string') return value;
    throw refuse(code ?? 'invalid_type', name, allowed, value);
  }

  /** Non-empty. */
  requireText(name: string, allowed?: string): string {
    const value = this.text(name, allowed);
    const filled = allowed ?? 'a string that is not empty';
    if (value === undefined) throw requireParameter(name, filled);
    if (value.trim() === '') throw refuse('empty_string', name, filled, value);
    return value;
  }

  /** A finite number above 0. */
  positive(name: string): number | undefined {
    const value = this.#number(name);
    if (value === undefined || (isNumber(value) && value > 0)) return value;
    const code = isNumber(value) ? 'decimal_below_min_value' : 'invalid_type';
    throw refuse(code, name, 'a number above 0', this.#find(name));
  }

  number(name: string, allowed = 'a number'): number | undefined {
    const value = this.#number(name);
    if (value === undefined || isNumber(value)) return value;
    throw refuse('invalid_type', name, allowed, this.#find(name));
  }

  /** Exact integers only; the range is inclusive. */
  integer(
    name: string,
    { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER, allowed }: Range = {},
  ): number | undefined {
    const value = this.#number(name);
    if (value === undefined || (Number.isSafeInteger(value) && value >= min && value <= max)) return value;
    const code = Number.isInteger(value)
      ? classifyNumber(value, { type: 'integer', minimum: min, maximum: max })
      : 'invalid_type';
    throw refuse(code, name, allowed ?? describeRange(min, max), this.#find(name));
  }

  choice<Name extends string>(name: string, choices: readonly Name[]): Name | undefined {
    const value = this.#find(name);
    const choice = choices.find((each) => each === value);
    if (value === undefined || choice !== undefined) return choice;
    const code = typeof value === 'string' ? 'invalid_value' : 'invalid_type';
    throw refuse(code, name, choices.map((each) => `"${each}"`).join(' or '), value);
  }

  /** A JSON object within limits; as JSON text in a form. */
  object(name: string): Record<string, unknown> | undefined {
    const value = this.#find(name);
    if (value === undefined) return undefined;
    const object =
      value instanceof KeptObject
        ? value.object
        : this.#areTexts && typeof value === 'string'
          ? parseObject(value)
          : null;
    if (object) return object;
    const limits = `at most ${MAX_OBJECT_CHARACTERS} characters, ${MAX_OBJECT_VALUES} values and ${MAX_OBJECT_DEPTH} levels`;
    throw refuse('invalid_value', name, `a JSON object of ${limits}`, value);
  }

  /** For a field that may also have other types. */
  isTrue(name: string): boolean {
    const value = this.#find(name);
    return value === true || (this.#areTexts && typeof value === 'string' && /^(true|1)$/i.test(value));
  }

  #format(name: string): string {
    const value = this.#find(name);
    if (typeof value !== 'string') return JSON.stringify(value);
    if (PROSE.has(name)) return value;
    if (OBJECTS.has(name)) return canonicalize(value);
    const number = readNumber(value);
    return Number.isNaN(number) ? value : String(number);
  }

  #find(name: string): unknown {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return value === null || (this.#areTexts && value === '') ? undefined : value;
  }

  /** NaN if it is not a number. */
  #number(name: string): number | undefined {
    const value = this.#find(name);
    if (value === undefined || typeof value === 'number') return value;
    return this.#areTexts && typeof value === 'string' ? readNumber(value) : Number.NaN;
  }
}

/** NaN if it is not a number. */
function readNumber(value: string): number {
  const text = value.trim();
  return text.length <= MAX_NUMBER_LENGTH && NUMBER.test(text) ? Number(text) : Number.NaN;
}

class KeptObject {
  readonly object: Record<string, unknown>;

  constructor(object: Record<string, unknown>) {
    this.object = object;
  }

  toJSON(): unknown {
    return this.object;
  }
}

/** For one that is too large, only its type. */
const keepObject = (value: unknown): unknown =>
  isObject(value) && isInBounds(value) ? new KeptObject(value) : dropContent(value);

function parseObject(text: string): Record<string, unknown> | null {
  if (text.length > MAX_OBJECT_CHARACTERS) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && isInBounds(value) ? value : null;
  } catch {
    return null;
  }
}

/** As it is, if it is no object. */
function canonicalize(text: string): string {
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
    if (typeof value !== 'object' || value === null) return characters <= MAX_OBJECT_CHARACTERS;
    for (const name in value) {
      if (!Array.isArray(value)) characters += name.length;
      if (!fits((value as Record<string, unknown>)[name], depth + 1)) return false;
    }
    return true;
  };
  return fits(object, 0);
}

function dropContent(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return typeof value === 'object' && value !== null ? {} : value;
}

const isNumber = (value: number): boolean => Number.isFinite(value);

function describeRange(min: number, max: number): string {
  const isFrom = min > Number.MIN_SAFE_INTEGER;
  const isTo = max < Number.MAX_SAFE_INTEGER;
  if (isFrom && isTo) return `an integer from ${min} to ${max}`;
  return isFrom ? `an integer of at least ${min}` : 'an integer';
}

const refuse = (code: ErrorCode, name: string, allowed: string, value: unknown): ApiError =>
  refuseParameter(code, name, `\`${name}\` must be ${allowed}, not ${show(value)}.`);

function show(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}
