/** What a JSON Schema allows, in words for a table. */
import type { CelRule } from '../../api/kubernetes-types.ts';
import { code } from './markdown.ts';

export interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly contains?: { readonly const: string };
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  /** What the pattern means. */
  readonly patternText?: string;
  readonly not?: Schema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

export function formatType(schema: Schema): string {
  const { type = schema.enum ? 'string' : 'any', anyOf, items, additionalProperties, format } = schema;
  if (anyOf) return anyOf.map(formatType).join(' or ');
  if (items) return `list of ${formatType(items)}`;
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    return `map of ${formatType(additionalProperties)}`;
  if (format === 'date-time') return 'time';
  return type === 'array' ? 'list' : [type].flat().join(' or ');
}

export function formatAllowed(schema: Schema): string {
  const { anyOf, items, minItems = 0, maxItems, contains } = schema;
  if (anyOf && anyOf.length > 0) return anyOf.map(formatAllowed).filter(Boolean).join(' or ');
  const count = minItems > 0 ? `${minItems} to ${maxItems} items` : `at most ${maxItems} items`;
  const each = items ? listLimits(items).join(', ') : '';
  return [
    ...listLimits(schema),
    ...(maxItems === undefined ? [] : [count]),
    ...(each && [items?.properties ? each : `each: ${each}`]),
    ...(contains ? [`must have ${code(contains.const)}`] : []),
  ].join('; ');
}

/** zod gives integers without bounds those of what JavaScript can count. */
const isChosen = (bound: number | undefined): boolean =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

function listLimits(schema: Schema): string[] {
  const { minLength = 0, maxLength, pattern, format } = schema;
  const limits: string[] = [];
  if (schema.enum) limits.push(schema.enum.map(code).join(', '));
  if (isChosen(schema.minimum))
    limits.push(`${schema.exclusiveMinimum ? 'above' : 'at least'} ${schema.minimum}`);
  if (isChosen(schema.maximum))
    limits.push(`${schema.exclusiveMaximum ? 'below' : 'at most'} ${schema.maximum}`);
  if (schema.patternText) limits.push(schema.patternText);
  else if (pattern && format !== 'date-time') limits.push(code(pattern));
  if (maxLength !== undefined)
    limits.push(`${minLength > 0 ? `${minLength} to` : 'at most'} ${maxLength} characters`);
  else if (minLength > 0) limits.push('not empty');
  return [...limits, ...listRules(schema)].map((limit) => limit.replace(/^must be /, ''));
}

/** The messages of its CEL rules. */
export const listRules = ({ 'x-kubernetes-validations': rules = [] }: Schema): string[] =>
  rules.map(({ rule, message }) => {
    if (!message) throw new Error(`the rule ${rule} has no message`);
    return message;
  });
