/** What both heads of HTTP/1.1 are made of (RFC 9110, 5.6 and 8.6). */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~\w]+$/;
export const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Null: it is none, or 2^53 and more. */
export const readContentLength = (value: string): number | null =>
  /^\d+$/.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : null;
