/** Compiles the `x-kubernetes-validations` of a schema, and checks objects by them as the API server does. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../kit/json.ts';
import { type CelEnvironment, createEnvironment, describeError, toOptional } from './cel-environment.ts';
import { type CelType, declareType, OBJECT_FIELDS } from './cel-types.ts';
import { findListItem, type Schema } from './schema.ts';
import { fieldError, type StatusCause } from './status-error.ts';

interface Rule {
  rule: string;
  message?: string;
  messageExpression?: string;
  /** Below the field of the rule, such as `.image`. */
  fieldPath?: string;
  /** Makes `oldSelf` optional, so that the rule applies to new values as well. */
  optionalOldSelf?: boolean;
}

interface Variables {
  self: unknown;
  oldSelf?: unknown;
}

type Program = (variables: Variables) => unknown;

interface CompiledRule extends Rule {
  holds: Program;
  explain?: Program | undefined;
  readsOld: boolean;
}

/** The rules of a part of a schema, and of what is in it. */
export interface RuleTree {
  schema: Schema;
  type: CelType;
  rules: readonly CompiledRule[];
  properties: ReadonlyMap<string, RuleTree>;
  /** The rules of a list's items, or of a map's values. */
  items?: RuleTree | undefined;
}

/** Undefined without rules. Throws an Error for a rule that cannot run, such as one with an unknown function or field. */
export function compileRules(schema: Schema, kind: string): RuleTree | undefined {
  const root = { ...schema, properties: { ...schema.properties, ...OBJECT_FIELDS } };
  const environment = createEnvironment();
  const type = declareType(environment, root, kind);
  return compileNode(new RuleCompiler(environment), root, type, kind);
}

function compileNode(
  compiler: RuleCompiler,
  schema: Schema,
  type: CelType | undefined,
  path: string,
): RuleTree | undefined {
  if (!type) return undefined;
  const inner = schema.items ?? schema.additionalProperties;
  const items = isObject(inner) ? compileNode(compiler, inner, type.items, `${path}[]`) : undefined;
  const properties = new Map<string, RuleTree>();
  for (const [name, own] of Object.entries(schema.properties ?? {})) {
    const tree = compileNode(compiler, own, type.properties?.get(name), `${path}.${name}`);
    if (tree) properties.set(name, tree);
  }
  const own = (schema['x-kubernetes-validations'] ?? []) as Rule[];
  if (own.length === 0 && !items && properties.size === 0) return undefined;
  const rules = own.map((rule) => compiler.compile(rule, type.name, path));
  return { schema, type, rules, properties, items };
}

/** Many fields have the same rules: each is compiled once for its type. */
class RuleCompiler {
  readonly #environment: CelEnvironment;
  readonly #environments = new Map<string, CelEnvironment>();
  readonly #programs = new Map<string, Program>();

  constructor(environment: CelEnvironment) {
    this.#environment = environment;
  }

  compile(rule: Rule, type: string, path: string): CompiledRule {
    const { messageExpression, optionalOldSelf = false } = rule;
    const oldType = optionalOldSelf ? `optional<${type}>` : type;
    const compile = (expression: string, wanted: string) => this.#program(expression, wanted, type, oldType);
    try {
      return {
        ...rule,
        holds: compile(rule.rule, 'bool'),
        explain: messageExpression === undefined ? undefined : compile(messageExpression, 'string'),
        readsOld: /\boldSelf\b/.test(rule.rule),
      };
    } catch (error) {
      throw new Error(`${path}: the rule "${rule.rule}" cannot run`, { cause: error });
    }
  }

  #program(expression: string, wanted: string, type: string, oldType: string): Program {
    const key = JSON.stringify([expression, type, oldType]);
    const known = this.#programs.get(key);
    if (known) return known;
    const program = this.#environmentOf(type, oldType).parse(expression);
    const { valid, error, type: result } = program.check();
    if (!valid) throw error;
    if (result !== wanted) throw new Error(`"${expression}" is a ${result}, not a ${wanted}`);
    const run: Program = (variables) => program({ ...variables });
    this.#programs.set(key, run);
    return run;
  }

  #environmentOf(type: string, oldType: string): CelEnvironment {
    const known = this.#environments.get(oldType);
    if (known) return known;
    const own = this.#environment.clone().registerVariable('self', type).registerVariable('oldSelf', oldType);
    this.#environments.set(oldType, own);
    return own;
  }
}

/** The broken rules of a value that is valid by its schema. `before`: undefined for a new one. */
export const checkRules = (tree: RuleTree, value: unknown, before: unknown): StatusCause[] =>
  checkNode(tree, { value, before, path: '', isUnchanged: false });

interface Place {
  value: unknown;
  before: unknown;
  path: string;
  /** Whether the nearest value around this one that has an old value equals it. */
  isUnchanged: boolean;
}

function checkNode(tree: RuleTree, place: Place): StatusCause[] {
  const { value, before, path } = place;
  if (value === null || value === undefined) return [];
  const isUnchanged = before === undefined ? place.isUnchanged : isDeepStrictEqual(value, before);
  const child = (inner: RuleTree, own: unknown, old: unknown, at: string) =>
    checkNode(inner, { value: own, before: old, path: at, isUnchanged });
  const causes = tree.rules.length > 0 ? checkOwnRules(tree, { ...place, isUnchanged }) : [];
  const { items } = tree;
  if (Array.isArray(value)) {
    if (items)
      for (const [index, item] of value.entries())
        causes.push(...child(items, item, findListItem(tree.schema, before, item), `${path}[${index}]`));
  } else if (isObject(value)) {
    const old = isObject(before) ? before : {};
    for (const [name, inner] of Object.entries(value)) {
      const own = tree.properties.get(name);
      if (own) causes.push(...child(own, inner, old[name], path === '' ? name : `${path}.${name}`));
      else if (items) causes.push(...child(items, inner, old[name], `${path}[${name}]`));
    }
  }
  return causes;
}

function checkOwnRules(
  { type, rules, schema }: RuleTree,
  { value, before, path, isUnchanged }: Place,
): StatusCause[] {
  const self = type.convert(value);
  const old = before === undefined || before === null ? undefined : type.convert(before);
  const causes: StatusCause[] = [];
  for (const rule of rules) {
    // Rules about a change need two values; other rules do not hold up writers of objects that broke them before.
    if (rule.readsOld && old === undefined && !rule.optionalOldSelf) continue;
    const variables = { self, oldSelf: rule.optionalOldSelf ? toOptional(old) : old };
    try {
      if (rule.holds(variables) === true || (isUnchanged && !rule.readsOld)) continue;
      const shown = schema.type === 'object' || schema.type === 'array' ? undefined : value;
      const field = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '');
      causes.push(fieldError('FieldValueInvalid', field, explain(rule, variables), shown));
    } catch (error) {
      const detail = `${describeError(error)} evaluating rule: ${(rule.message ?? rule.rule).trim()}`;
      causes.push(fieldError('FieldValueInvalid', path, detail, schema.type));
    }
  }
  return causes;
}

function explain(rule: CompiledRule, variables: Variables): string {
  const fallback = rule.message?.trim() ?? `failed rule: ${rule.rule.trim()}`;
  try {
    const text = String(rule.explain?.(variables) ?? '').trim();
    return text === '' || text.includes('\n') ? fallback : text;
  } catch {
    return fallback;
  }
}
