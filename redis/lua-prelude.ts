/** Writes keys, limits, fields and signatures as Lua: one statement for each name. No I/O. */
import { channels, configKeys, deliveryKeys, workKeys } from '../api/redis-keys.ts';
import {
  FIELDS,
  FUNCTIONS_LIBRARY,
  LIMITS,
  listWords,
  SIGNATURES,
  type Signature,
  toSnakeCase,
} from './function-table.ts';

/** Each statement by the name that it declares. */
export function writePrelude(): Map<string, string> {
  const signatures = Object.entries<Signature>(SIGNATURES).map(([name, each]) => [
    toSnakeCase(name),
    measure(each),
  ]);
  const values = {
    LIBRARY: FUNCTIONS_LIBRARY,
    ...LIMITS,
    ...FIELDS,
    SIGNATURES: Object.fromEntries(signatures),
  };
  const { jobs, events } = channels;
  return new Map([
    ...Object.entries(values).map(([name, value]): [string, string] => [
      name,
      `local ${name} = ${writeValue(value)}`,
    ]),
    ...writeKeys(configKeys(NAMESPACE), 'config_', '_key'),
    ...writeKeys({ ...workKeys(NAMESPACE), ...deliveryKeys(NAMESPACE) }, '', '_key'),
    ...writeKeys({ jobs: jobs.bind(null, NAMESPACE), events: events(NAMESPACE) }, '', '_channel'),
  ]);
}

/** Bounds of a function's keys and arguments. `fixed`: how many are named; `each`: how many each group of others has. */
function measure({ kind, keys = 1, args, optional = 0, rest, bytes }: Signature) {
  const fixed = listWords(args).length;
  const each = rest ? listWords(rest.each).length : 0;
  return {
    kind: kind ?? 'ends',
    keys,
    fixed,
    each,
    least: fixed - optional + each * (rest?.least ?? 0),
    most: fixed + each * (rest?.most ?? 0),
    bytes,
  };
}

/** JSON of words and numbers differs from Lua in brackets and colons only. Lua's own decoder is not there while it loads. */
const writeValue = (value: unknown): string =>
  JSON.stringify(value)
    .replace(/"(\w+)":/g, '$1=')
    .replaceAll('[', '{')
    .replaceAll(']', '}');

/** Stand-ins for the parts of a key: a private character, as often as a SHA-256 has digits, since some keys cut theirs short. */
const DIGITS = 64;
const [NAMESPACE = '', ...PARTS] = ['\uE000', '\uE001', '\uE002', '\uE003'].map((mark) =>
  mark.repeat(DIGITS),
);
const PARAMETERS = ['namespace', 'a', 'b', 'c'];

type Keys = Record<string, string | ((...parts: string[]) => string)>;

/** A function of the namespace and the key's other parts, for each key. */
function writeKeys(keys: object, prefix: string, suffix: string): [string, string][] {
  return Object.entries(keys as Keys).map(([field, key]) => {
    const parts = typeof key === 'string' ? [] : PARTS.slice(0, key.length);
    const text = typeof key === 'string' ? key : key(...parts);
    const name = `${prefix}${toSnakeCase(field)}`.replace(new RegExp(`(${suffix})?$`), suffix);
    const parameters = PARAMETERS.slice(0, 1 + parts.length).join(', ');
    return [name, `local function ${name}(${parameters}) return ${writeKey(text)} end`];
  });
}

function writeKey(text: string): string {
  const pieces = text.split(/([\uE000-\uE003]+)/).filter(Boolean);
  return pieces
    .map((piece) => {
      const parameter = PARAMETERS[piece.charCodeAt(0) - 0xe000];
      if (!parameter) return `'${piece}'`;
      return piece.length === DIGITS ? parameter : `string.sub(${parameter}, 1, ${piece.length})`;
    })
    .join(' .. ');
}
