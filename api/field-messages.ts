/** Messages about invalid fields, instead of zod's own: what is allowed, and what the value was. Pure. */
import { z } from 'zod';

const MAX_QUOTE = 40;

/**
 * For the options of a schema's `parse`: the message continues after the field's name. A schema's own messages take precedence.
 * Texts of which only the length is checked are never repeated, since they may be secrets.
 */
export const FIELD_MESSAGES = { error: describeIssue };

function describeIssue(issue: z.core.$ZodRawIssue): string {
  const schema = issue.schema ?? issue.inst;
  if (issue.code === 'unrecognized_keys') {
    const known = schema instanceof z.ZodObject ? `; allowed: ${Object.keys(schema.shape).join(', ')}` : '';
    return `is not a known field${known}`;
  }
  if (issue.code === 'invalid_format' && issue.format === 'regex')
    return `must match ${String(issue.pattern).replace(/^\/|\/$/g, '')}`;
  const wanted = describeSchema(schema);
  return issue.input === undefined
    ? `must be given, as ${wanted}`
    : `must be ${wanted}, not ${describeInput(issue.input, schema)}`;
}

function describeSchema(schema: unknown): string {
  if (schema instanceof z.ZodNumber) {
    const { minValue, maxValue, isInt } = schema;
    return `${isInt ? 'a whole' : 'a'} number${describeRange(minValue, maxValue)}`;
  }
  if (schema instanceof z.ZodISODateTime) return 'a date and time such as 2030-12-31T23:00:00Z';
  if (schema instanceof z.ZodString) {
    const range = describeRange(schema.minLength, schema.maxLength);
    return range ? `text${range.replace(' from ', ' of ')} characters` : 'text';
  }
  if (schema instanceof z.ZodBoolean) return 'true or false';
  if (schema instanceof z.ZodEnum)
    return `one of ${schema.options.filter((option) => option !== '').join(', ')}`;
  if (schema instanceof z.ZodLiteral) return [...schema.values].join(' or ');
  if (schema instanceof z.ZodArray) {
    const checks = (schema.def.checks ?? []).map(({ _zod }) => _zod.def);
    const { minimum, maximum }: { minimum?: number; maximum?: number } = Object.assign({}, ...checks);
    return `a list${describeRange(minimum ?? null, maximum ?? null).replace(' from ', ' of ')}`;
  }
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord) return 'an object';
  if (schema instanceof z.ZodUnion) return schema.options.map(describeSchema).join(' or ');
  return 'another value';
}

/** Starts with a space; '' without limits. Zod limits integers to the safe range. */
function describeRange(least: number | null, most: number | null): string {
  const isGiven = (bound: number | null): bound is number =>
    bound !== null && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const write = (bound: number) => bound.toLocaleString('en-US');
  if (isGiven(least) && isGiven(most)) return ` from ${write(least)} to ${write(most)}`;
  if (isGiven(least)) return ` of at least ${write(least)}`;
  return isGiven(most) ? ` of at most ${write(most)}` : '';
}

function describeInput(input: unknown, schema: unknown): string {
  const isText = schema instanceof z.ZodString;
  if (typeof input === 'string') {
    if (isText) return input.length.toLocaleString('en-US');
    return `"${input.length > MAX_QUOTE ? `${input.slice(0, MAX_QUOTE)}…` : input}"`;
  }
  if (Array.isArray(input)) return schema instanceof z.ZodArray ? `of ${input.length}` : 'a list';
  if (typeof input === 'object' && input !== null) return 'an object';
  if (isText) return `a ${typeof input}`;
  return Number.isSafeInteger(input) ? (input as number).toLocaleString('en-US') : String(input);
}
