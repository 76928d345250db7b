/**
 * Kinds of environment variables. Each program has a table of its own, whose rows say once how a variable is named, what it may be and
 * what it does: `Environment.read` (kit/environment.ts) reads them, and docs/environment.md lists them.
 */

export interface Variable<T> {
  readonly name: string;
  /** One sentence or two. */
  readonly about: string;
  /** What it may be, such as "must be a port from 1 to 65535"; '' for any text. */
  readonly rule: string;
  /** Its value if it is unset or empty. */
  readonly fallback: T;
  readonly isRequired?: true;
  /** undefined: it breaks the rule. */
  readonly parse: (text: string) => T | undefined;
}

/** Rows by the names of their settings, also in groups. */
export interface VariableTable {
  readonly [setting: string]: Variable<unknown> | VariableTable;
}

export const isVariable = (row: Variable<unknown> | VariableTable): row is Variable<unknown> =>
  typeof row.parse === 'function';

/** The settings that a table describes. */
export type ValuesOf<T extends VariableTable> = {
  [K in keyof T]: T[K] extends Variable<infer V> ? V : T[K] extends VariableTable ? ValuesOf<T[K]> : never;
};

/** The variables' names by the names of their settings. */
export const namesOf = <T extends Readonly<Record<string, Variable<unknown>>>>(
  table: T,
): { readonly [K in keyof T]: string } =>
  Object.fromEntries(Object.entries(table).map(([key, { name }]) => [key, name])) as {
    [K in keyof T]: string;
  };

const MAX_PORT = 65_535;

export const text = <T extends string | undefined = undefined>(
  name: string,
  about: string,
  fallback?: T,
): Variable<string | T> => ({ name, about, rule: '', fallback: fallback as T, parse: (value) => value });

/** An unset one is a problem. */
export const required = <T extends string>(variable: Variable<T | undefined>): Variable<T> => ({
  ...(variable as Variable<T>),
  fallback: '' as T,
  isRequired: true,
});

export const oneOf = <T extends string, F extends T | undefined = undefined>(
  name: string,
  about: string,
  values: readonly T[],
  fallback?: F,
): Variable<T | F> => ({
  name,
  about,
  rule: `must be one of ${values.join(', ')}`,
  fallback: fallback as F,
  parse: (value) => values.find((each) => each === value),
});

export const flag = (name: string, about: string, fallback = false): Variable<boolean> => ({
  name,
  about,
  rule: 'must be true or false',
  fallback,
  parse: (value) => (value === 'true' || value === 'false' ? value === 'true' : undefined),
});

const parseInteger = (value: string, min: number, max: number): number | undefined =>
  /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined;

export const integer = <T extends number | undefined = undefined>(
  name: string,
  about: string,
  { min = 0, max, fallback }: { min?: number; max: number; fallback?: T },
): Variable<number | T> => ({
  name,
  about,
  rule: `must be a whole number from ${min} to ${max}`,
  fallback: fallback as T,
  parse: (value) => parseInteger(value, min, max),
});

/** `min`: 0 if any free port will do. */
export const port = <T extends number | undefined = undefined>(
  name: string,
  about: string,
  fallback?: T,
  min = 0,
): Variable<number | T> => ({
  name,
  about,
  rule: `must be a port from ${min} to ${MAX_PORT}`,
  fallback: fallback as T,
  parse: (value) => parseInteger(value, min, MAX_PORT),
});

/** From 0 to 1. */
export const fraction = (name: string, about: string, fallback: number): Variable<number> => ({
  name,
  about,
  rule: 'must be a number from 0 to 1',
  fallback,
  parse: (value) =>
    /^(\d+\.?\d*|\.\d+)(e-\d+)?$/.test(value) && Number(value) <= 1 ? Number(value) : undefined,
});

/** The origin of an http:// or https:// URL. */
export const origin = (name: string, about: string): Variable<string | undefined> => ({
  name,
  about,
  rule: 'must be an origin such as https://host.example.com:8080',
  fallback: undefined,
  parse: (value) => {
    const url = URL.parse(value);
    return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.origin : undefined;
  },
});

/** The path of a URL. */
export const path = <T extends string | undefined = undefined>(
  name: string,
  about: string,
  fallback?: T,
): Variable<string | T> => ({
  name,
  about,
  rule: 'must begin with "/"',
  fallback: fallback as T,
  parse: (value) => (value.startsWith('/') ? value : undefined),
});

/** Separated by commas. */
export const list = (name: string, about: string): Variable<readonly string[]> => ({
  name,
  about,
  rule: 'must be a list with commas',
  fallback: [],
  parse: (value) => value.split(',').flatMap((item) => item.trim() || []),
});

export const json = <T extends object>(
  name: string,
  about: string,
  shape: 'object' | 'list',
  fallback: T,
): Variable<T> => ({
  name,
  about,
  rule: `must be a JSON ${shape}`,
  fallback,
  parse: (text) => {
    try {
      const value: unknown = JSON.parse(text);
      const isShape =
        shape === 'list'
          ? Array.isArray(value)
          : typeof value === 'object' && value !== null && !Array.isArray(value);
      return isShape ? (value as T) : undefined;
    } catch {
      return undefined;
    }
  },
});

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const logLevel = (name: string, about = 'Least severe level that is logged.') =>
  oneOf(name, about, LOG_LEVELS, 'info');

/** Where traces go, and which; `prefix` of the variables' names. */
export const tracing = (prefix: string) => ({
  endpoint: origin(
    `${prefix}_TRACING_ENDPOINT`,
    'Origin of an OTLP receiver of traces; nothing is traced without it.',
  ),
  sampleRatio: fraction(
    `${prefix}_TRACING_RATIO`,
    'Share of the requests without a `traceparent` that are traced, from 0 to 1.',
    0.1,
  ),
});

/** Which addresses tenants' URLs may resolve to; `prefix` of the variables' names. */
export const egress = (prefix: string) => ({
  allow: list(
    `${prefix}_EGRESS_ALLOW`,
    "CIDRs that tenants' URLs may resolve to although they are not public.",
  ),
  deny: list(
    `${prefix}_EGRESS_DENY`,
    "CIDRs that tenants' URLs must not resolve to although they are public.",
  ),
  plainHTTP: flag(
    `${prefix}_EGRESS_PLAIN_HTTP`,
    "Whether tenants' URLs may be http: if they resolve to an allowed CIDR.",
  ),
});
