/** Typed values of a request's documented fields, from a JSON body or a form. */
import type { ErrorCode } from '../../api/errors.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import type { ApiError } from '../http/error-response.ts';
import { classifyNumber, refuseParameter, requireParameter } from '../http/parameter-error.ts';
import {
  canonicalize,
  dropContent,
  KeptObject,
  keepObject,
  OBJECT_ALLOWED,
  parseObject,
} from './object-field.ts';

/** Numbers in forms; nothing else that JavaScript would accept, such as `0x10` or `Infinity`. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;
const MAX_NUMBER_LENGTH = 40;
const MAX_SHOWN_CHARACTERS = 40;
/** Fields that are objects, with their limits. */
const OBJECTS: ReadonlySet<string> = new Set(['extra_params']);
/** Fields in which `1.0` says something else than `1`. */
const PROSE: ReadonlySet<string> = new Set(['prompt', 'negative_prompt']);
type ObjectText = Pick<JsonBody, 'raw' | 'members'>;

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
  /** Numbers that JavaScript rounds, as they were sent. */
  readonly #exact: ReadonlyMap<string, string>;

  private constructor(
    values: Readonly<Record<string, unknown>>,
    areTexts: boolean,
    exact: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#values = values;
    this.#areTexts = areTexts;
    this.#exact = exact;
  }

  /**
   * Keeps only the named members, and of lists and objects, which few fields accept, only their type. `areTexts`: values may also be
   * texts, as in a form, where the route takes either. `text`: of the body, for messages.
   */
  static ofJSON(
    body: Readonly<Record<string, unknown>>,
    names: Iterable<string> = Object.keys(body),
    { areTexts = false, text }: { areTexts?: boolean; text?: ObjectText } = {},
  ): FieldReader {
    const values: Record<string, unknown> = {};
    for (const name of names)
      if (Object.hasOwn(body, name))
        values[name] = OBJECTS.has(name) ? keepObject(body[name]) : dropContent(body[name]);
    return new FieldReader(values, areTexts, text && readExact(values, text));
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
    throw this.#refuse(code ?? 'invalid_type', name, allowed);
  }

  /** Non-empty. */
  requireText(name: string, allowed?: string): string {
    const value = this.text(name, allowed);
    const filled = allowed ?? 'a string that is not empty';
    if (value === undefined) throw requireParameter(name, filled);
    if (value.trim() === '') throw this.#refuse('empty_string', name, filled);
    return value;
  }

  /** A finite number above 0. */
  positive(name: string): number | undefined {
    const value = this.#number(name);
    if (value === undefined || (isNumber(value) && value > 0)) return value;
    const code = isNumber(value) ? 'decimal_below_min_value' : 'invalid_type';
    throw this.#refuse(code, name, 'a number above 0');
  }

  number(name: string, allowed = 'a number'): number | undefined {
    const value = this.#number(name);
    if (value === undefined || isNumber(value)) return value;
    throw this.#refuse('invalid_type', name, allowed);
  }

  /** Exact integers only; the range is inclusive. */
  integer(
    name: string,
    { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER, allowed }: Range = {},
  ): number | undefined {
    const value = this.#number(name);
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return value;
    const code = Number.isInteger(value)
      ? classifyNumber(value, { type: 'integer', minimum: min, maximum: max })
      : 'invalid_type';
    const isBeyond = Number.isInteger(value) && !Number.isSafeInteger(value);
    throw this.#refuse(code, name, allowed ?? describeRange(min, max, isBeyond));
  }

  /** Any integer, as the nearest in the range. */
  clamped(name: string, { min, max }: Required<Pick<Range, 'min' | 'max'>>): number | undefined {
    const value = this.#number(name);
    if (value === undefined) return undefined;
    if (Number.isInteger(value)) return Math.min(Math.max(value, min), max);
    throw this.#refuse('invalid_type', name, 'an integer');
  }

  choice<Name extends string>(name: string, choices: readonly Name[]): Name | undefined {
    const value = this.#find(name);
    const choice = choices.find((each) => each === value);
    if (value === undefined || choice !== undefined) return choice;
    const code = typeof value === 'string' ? 'invalid_value' : 'invalid_type';
    throw this.#refuse(code, name, choices.map((each) => `"${each}"`).join(' or '));
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
    throw this.#refuse('invalid_value', name, OBJECT_ALLOWED);
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

  #refuse(code: ErrorCode, name: string, allowed: string): ApiError {
    const shown = this.#exact.get(name) ?? show(this.#find(name));
    return refuseParameter(code, name, `\`${name}\` must be ${allowed}, not ${shorten(shown)}.`);
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

const isNumber = (value: number): boolean => Number.isFinite(value);

function readExact(
  values: Readonly<Record<string, unknown>>,
  { raw, members }: ObjectText,
): ReadonlyMap<string, string> {
  const exact = new Map<string, string>();
  const isExact = (value: unknown) => typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (Object.values(values).every(isExact)) return exact;
  for (const { name, start, end } of members())
    if (Object.hasOwn(values, name) && !isExact(values[name]))
      exact.set(name, raw.toString('latin1', start, Math.min(end, start + MAX_SHOWN_CHARACTERS + 1)).trim());
  return exact;
}

/** `isBeyond`: the safe integers are a bound that matters, too. */
function describeRange(min: number, max: number, isBeyond: boolean): string {
  const isFrom = isBeyond || min > Number.MIN_SAFE_INTEGER;
  const isTo = isBeyond || max < Number.MAX_SAFE_INTEGER;
  if (isFrom && isTo) return `an integer from ${min} to ${max}`;
  return isFrom ? `an integer of at least ${min}` : 'an integer';
}

function show(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return JSON.stringify(value);
}

const shorten = (text: string): string =>
  text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
