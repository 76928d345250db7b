/** Reads environment variables by the tables of api/variables.ts, and reports all problems in one error. */
import { readFileSync } from 'node:fs';
import { isVariable, type ValuesOf, type Variable, type VariableTable } from '../api/variables.ts';

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

const MAX_QUOTE = 200;

/**
 * Reads variables; an empty one counts as unset. A reader that finds a problem records it and returns a placeholder, so
 * that the next variables are read, too: nothing may act on values before `parseEnvironment` returns.
 */
export class Environment {
  readonly problems: string[] = [];
  readonly #variables: Variables;

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  read<T>({ name, rule, fallback, isRequired, parse }: Variable<T>): T {
    const text = this.#variables[name];
    if (!text) return isRequired ? this.fail(`${name} must be set`, fallback) : fallback;
    const value = parse(text);
    return value === undefined
      ? this.fail(`${name} ${rule}, not "${text.slice(0, MAX_QUOTE)}"`, fallback)
      : value;
  }

  /** All variables of a table, by the names of their settings. */
  readAll<T extends VariableTable>(table: T): ValuesOf<T> {
    const entries = Object.entries(table).map(([key, row]) => [
      key,
      isVariable(row) ? this.read(row) : this.readAll(row),
    ]);
    return Object.fromEntries(entries) as ValuesOf<T>;
  }

  /** Whether it is set, even to an empty value. */
  has({ name }: Variable<unknown>): boolean {
    return this.#variables[name] !== undefined;
  }

  /** The text of a required file; `variable` has its path. */
  requiredFile(path: string, { name }: Variable<unknown>): string {
    try {
      const text = readFileSync(path, 'utf8').trim();
      return text || this.fail(`${path} is empty (${name})`, '');
    } catch (error) {
      return this.fail(`cannot read ${path} (${name}): ${(error as Error).message}`, '');
    }
  }

  /** Records a problem, and returns the placeholder to continue with. */
  fail<T>(problem: string, placeholder: T): T {
    this.problems.push(problem);
    return placeholder;
  }
}
