/** A value that satisfies a JSON Schema, like a model's output with guided decoding. */
import { refuse } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import { generateNumber, generateString } from './json-scalar.ts';
import { pickInteger, pickOne, type Random } from './random.ts';

/** No schema may make more values than this, nor nest deeper: it is refused instead. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 64;
/** Below this depth only what is required is made, so that recursive schemas end. */
const GENEROUS_DEPTH = 4;
const UNIQUE_ATTEMPTS = 50;
const ENDLESS = 'The JSON schema is too large or never ends.';

interface Generation {
  root: unknown;
  random: Random;
  values: number;
}

/** Throws an EngineError when the schema is no schema, or too large. */
export function generateValue(schema: unknown, random: Random): unknown {
  return generate(schema, 0, { root: schema, random, values: 0 });
}

function generate(given: unknown, depth: number, run: Generation): unknown {
  run.values++;
  if (run.values > MAX_VALUES || depth > MAX_DEPTH) throw refuse(ENDLESS);
  if (given === true) return generateString({}, run.random);
  const schema = resolve(given, depth, run);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return pickOne(run.random, schema.enum);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options) && options.length > 0) {
    const { anyOf: _any, oneOf: _one, ...rest } = schema;
    return generate(merge(rest, pickOption(options, depth, run)), depth + 1, run);
  }
  switch (chooseType(schema)) {
    case 'object':
      return generateObject(schema, depth, run);
    case 'array':
      return generateArray(schema, depth, run);
    case 'integer':
      return generateNumber(schema, run.random, true);
    case 'number':
      return generateNumber(schema, run.random, false);
    case 'boolean':
      return run.random() < 0.5;
    case 'null':
      return null;
    default:
      return generateString(schema, run.random);
  }
}

/** Follows references and folds `allOf` into one schema. */
function resolve(given: unknown, depth: number, run: Generation): Fields {
  let schema = given;
  for (let hops = 0; isObject(schema) && typeof schema.$ref === 'string'; hops++) {
    if (hops > MAX_DEPTH) throw refuse('The JSON schema refers to itself without end.');
    const { $ref, ...rest } = schema;
    schema = merge(rest, followPointer($ref as string, run.root));
  }
  if (!isObject(schema)) throw refuse('Invalid JSON schema: a schema must be an object.');
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...rest } = schema;
  if (depth > MAX_DEPTH) throw refuse(ENDLESS);
  return (allOf as unknown[]).reduce<Fields>((whole, part) => {
    if (++run.values > MAX_VALUES) throw refuse(ENDLESS);
    return merge(whole, resolve(part, depth + 1, run));
  }, rest);
}

function followPointer(pointer: string, root: unknown): unknown {
  if (!pointer.startsWith('#')) throw refuse(`Invalid JSON schema: cannot follow $ref ${pointer}`);
  const target = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (at, part) => (typeof at === 'object' && at !== null ? (at as Fields)[part] : undefined),
      root,
    );
  if (target === undefined) throw refuse(`Invalid JSON schema: nothing at $ref ${pointer}`);
  return target;
}

function merge(base: Fields, more: unknown): Fields {
  if (!isObject(more)) return base;
  const merged: Fields = { ...base, ...more };
  if (isObject(base.properties) && isObject(more.properties))
    merged.properties = { ...base.properties, ...more.properties };
  if (Array.isArray(base.required) && Array.isArray(more.required))
    merged.required = [...new Set([...base.required, ...more.required])];
  return merged;
}

/** Deep down the simplest option, so that a recursive schema ends. */
function pickOption(options: unknown[], depth: number, run: Generation): unknown {
  if (depth <= GENEROUS_DEPTH) return pickOne(run.random, options);
  const isScalar = (option: unknown): boolean =>
    isObject(option) && ['null', 'string', 'number', 'integer', 'boolean'].includes(String(option.type));
  return options.find(isScalar) ?? options[0];
}

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const;

function chooseType(schema: Fields): string {
  const types = schema.type === undefined ? guessType(schema) : [schema.type].flat();
  const type = types.find((one) => one !== 'null') ?? types[0];
  if (!TYPES.includes(type as never))
    throw refuse(`Invalid JSON schema: type must be one of ${TYPES.join(', ')}, got ${JSON.stringify(type)}`);
  return type as string;
}

function guessType(schema: Fields): string[] {
  if ('properties' in schema || 'required' in schema) return ['object'];
  if ('items' in schema || 'prefixItems' in schema || 'minItems' in schema) return ['array'];
  return 'minimum' in schema || 'maximum' in schema ? ['number'] : ['string'];
}

function generateObject(schema: Fields, depth: number, run: Generation): Fields {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const names =
    depth < GENEROUS_DEPTH ? new Set([...Object.keys(properties), ...required]) : new Set(required);
  // No prototype: a property may be called __proto__.
  const made = Object.create(null) as Fields;
  const extra = isObject(schema.additionalProperties) ? schema.additionalProperties : true;
  for (const name of names)
    made[name] = generate(Object.hasOwn(properties, name) ? properties[name] : extra, depth + 1, run);
  const least = typeof schema.minProperties === 'number' ? schema.minProperties : 0;
  for (let index = names.size; index < least; index++) made[`key${index}`] = generate(extra, depth + 1, run);
  return made;
}

function generateArray(schema: Fields, depth: number, run: Generation): unknown[] {
  const least = typeof schema.minItems === 'number' ? schema.minItems : 0;
  const most = typeof schema.maxItems === 'number' ? schema.maxItems : Math.max(least, 3);
  const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const wanted =
    depth < GENEROUS_DEPTH
      ? pickInteger(run.random, Math.max(least, Math.min(1, most)), Math.min(most, least + 3))
      : least;
  const made: unknown[] = [];
  const count = schema.items === false ? fixed.length : Math.max(wanted, Math.min(fixed.length, most));
  const seen = new Set<string>();
  for (let attempts = 0; made.length < count; ) {
    const value = generate(fixed[made.length] ?? schema.items ?? true, depth + 1, run);
    const key = schema.uniqueItems === true ? JSON.stringify(value) : String(made.length);
    if (seen.has(key)) {
      // A small enumeration has no more values to give.
      if (++attempts > UNIQUE_ATTEMPTS) break;
      continue;
    }
    seen.add(key);
    made.push(value);
  }
  return made;
}
