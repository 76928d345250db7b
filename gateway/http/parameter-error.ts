/** Refusals of parameters, with the codes of OpenAI's own API. */
import type { ErrorCode } from '../../api/errors.ts';
import { isObject } from '../../kit/json.ts';
import { ApiError, type ApiErrorDetails } from './error-response.ts';

export const refuseParameter = (
  code: ErrorCode,
  param: string,
  message: string,
  details: Omit<ApiErrorDetails, 'param'> = {},
): ApiError => new ApiError(code, message, { ...details, param });

/** `allowed` completes "must be …". */
export const requireParameter = (param: string, allowed: string): ApiError =>
  refuseParameter('missing_required_parameter', param, `\`${param}\` is required: it must be ${allowed}.`);

/** As far as it is needed to name what is wrong with a value that does not match. */
interface Schema {
  type?: string;
  anyOf?: readonly Schema[];
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** What is wrong with a value that a parameter's JSON Schema does not allow. */
export function classifyMismatch(schema: Schema, value: unknown): ErrorCode {
  if (schema.anyOf) {
    const branch = schema.anyOf.find(({ type }) => hasType(value, type));
    return branch ? classifyMismatch(branch, value) : 'invalid_type';
  }
  if (schema.enum)
    return schema.enum.some((each) => typeof each === typeof value) ? 'invalid_value' : 'invalid_type';
  if (!hasType(value, schema.type)) return 'invalid_type';
  if (typeof value === 'number') return classifyNumber(value, schema);
  if (typeof value === 'string')
    return schema.minLength !== undefined && value.trim() === '' ? 'empty_string' : 'invalid_value';
  // The items are at fault.
  return Array.isArray(value) ? (classifyLength(value.length, schema) ?? 'invalid_type') : 'invalid_value';
}

export function classifyNumber(value: number, { type, minimum, maximum }: Schema): ErrorCode {
  const kind = type === 'integer' ? 'integer' : 'decimal';
  if (minimum !== undefined && value < minimum) return `${kind}_below_min_value`;
  return maximum !== undefined && value > maximum ? `${kind}_above_max_value` : 'invalid_value';
}

function classifyLength(length: number, { minItems, maxItems }: Schema): ErrorCode | null {
  if (length === 0 && minItems !== undefined) return 'empty_array';
  return maxItems !== undefined && length > maxItems ? 'array_above_max_length' : null;
}

function hasType(value: unknown, type: string | undefined): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return typeof value === type;
  }
}
