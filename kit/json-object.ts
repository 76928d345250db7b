/** What a parsed JSON value is. */

export type JSONObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JSONObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
