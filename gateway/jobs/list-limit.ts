/** The query parameter `limit` of lists. */
import { refuseParameter } from '../http/parameter-error.ts';

/** More than `max` is `max`. Throws ApiError. */
export function readLimit(
  query: URLSearchParams,
  { fallback, max }: { fallback: number; max: number },
): number {
  const text = query.get('limit') || String(fallback);
  if (/^0*[1-9]\d{0,8}$/.test(text)) return Math.min(Number(text), max);
  const code = /^(-\d+|0+)$/.test(text)
    ? 'integer_below_min_value'
    : /^\d+$/.test(text)
      ? 'integer_above_max_value'
      : 'invalid_type';
  throw refuseParameter(code, 'limit', `\`limit\` must be a whole number from 1 to ${max}.`);
}
