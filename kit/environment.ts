/** Reads environment variables, and reports all problems in one error. */
import { readFileSync } from 'node:fs';

export type Variables = Readonly<Record<string, string | undefined>>;

/** Missing or invalid settings; each line of the message has one, with its allowed and actual value. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
}

/** Calls `read`, then throws an EnvironmentError that lists every problem found. */
export function parseEnvironment<T>(variables: Variables, read: (env: Environment) => T): T {
  const env = new Environment(variables);
  const settings = read(env);
  if (env.problems.length > 0) throw new EnvironmentError([...new Set(env.problems)].join('\n'));
  return settings;
}

/** The trimmed text of a file; undefined if it is missing, unreadable or empty. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

const MAX_PORT = 65_535;
const MAX_QUOTE = 200;

/**
 * Typed readers of variables; an empty one counts as unset. A reader that finds a problem records it and returns a
 * placeholder, so that the next variables are read, too: nothing may act on values before `parseEnvironment` returns.
 */
export class Environment {
  readonly problems: string[] = [];
  readonly #variables: Variables;

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  text(name: string): string | undefined {
    return this.#variables[name] || undefined;
  }

  /** Whether it is set, even to an empty value. */
  has(name: string): boolean {
    return this.#variables[name] !== undefined;
  }

  required(name: string): string {
    return this.text(name) ?? this.fail(`${name} must be set`, '');
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.text(name) ?? fallback;
    const found = allowed.find((each) => each === text);
    return found ?? this.#refuse(name, `one of ${allowed.join(', ')}`, fallback);
  }

  flag(name: string, fallback = false): boolean {
    const text = this.text(name) ?? String(fallback);
    if (text === 'true' || text === 'false') return text === 'true';
    return this.#refuse(name, 'true or false', fallback);
  }

  integer<T extends number | undefined>(
    name: string,
    { fallback, min = 0, max }: { fallback: T; min?: number; max: number },
  ): number | T {
    return this.#integer(name, `a whole number from ${min} to ${max}`, { fallback, min, max });
  }

  fraction(name: string, fallback: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = /^(\d+\.?\d*|\.\d+)(e-\d+)?$/.test(text) ? Number(text) : Number.NaN;
    return value >= 0 && value <= 1 ? value : this.#refuse(name, 'a number from 0 to 1', fallback);
  }

  /** `min`: 0 if any free port will do. */
  port<T extends number | undefined>(name: string, fallback: T, min = 0): number | T {
    return this.#integer(name, `a port from ${min} to ${MAX_PORT}`, { fallback, min, max: MAX_PORT });
  }

  /** Reads the origin of an http:// or https:// URL. */
  origin(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const url = URL.parse(text);
    if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin;
    return this.#refuse(name, 'an origin such as https://host.example.com:8080', undefined);
  }

  requiredOrigin(name: string): string {
    return this.text(name) === undefined ? this.required(name) : (this.origin(name) ?? '');
  }

  /** Reads the path of a URL: begins with "/". */
  path<T extends string | undefined>(name: string, fallback: T): string | T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (text.startsWith('/')) return text;
    return this.fail(`${name} must begin with "/", not "${text}"`, fallback);
  }

  /** Separated by commas. */
  list(name: string): string[] {
    return (this.text(name) ?? '').split(',').flatMap((item) => item.trim() || []);
  }

  json<T>(name: string, isValid: (value: unknown) => boolean, fallback: T): T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return this.fail(`${name} must be JSON: ${(error as Error).message}`, fallback);
    }
    if (isValid(value)) return value as T;
    return this.fail(`${name} has the wrong shape: ${text.slice(0, MAX_QUOTE)}`, fallback);
  }

  /** The text of a required file; `variable` has its path. */
  requiredFile(path: string, variable: string): string {
    try {
      const text = readFileSync(path, 'utf8').trim();
      return text || this.fail(`${path} is empty (${variable})`, '');
    } catch (error) {
      return this.fail(`cannot read ${path} (${variable}): ${(error as Error).message}`, '');
    }
  }

  /** Records a problem, and returns the placeholder to continue with. */
  fail<T>(problem: string, placeholder: T): T {
    this.problems.push(problem);
    return placeholder;
  }

  #integer<T extends number | undefined>(
    name: string,
    allowed: string,
    { fallback, min, max }: { fallback: T; min: number; max: number },
  ): number | T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    return /^\d+$/.test(text) && value >= min && value <= max ? value : this.#refuse(name, allowed, fallback);
  }

  #refuse<T>(name: string, allowed: string, placeholder: T): T {
    return this.fail(`${name} must be ${allowed}, not "${this.text(name)}"`, placeholder);
  }
}
