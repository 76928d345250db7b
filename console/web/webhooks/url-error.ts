/** Checks a receiver's URL in the form, before the operator validates it. Pure. */

/** Private and reserved addresses, as written in parsed URLs. */
const INSIDE = [
  /^(0|10|127)\./,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./,
  /^169\.254\./,
  /^172\.(1[6-9]|2\d|3[01])\./,
  /^192\.168\./,
  /^(22[4-9]|2[3-5]\d)\./,
  /^\[(::1?|::ffff:.*|f[cdf].*|fe[89ab].*)\]$/,
];

/** null if there is no problem; the operator decides. `isPlainHTTP`: whether the console was opened over plain HTTP. */
export function findURLError(text: string, isPlainHTTP: boolean): string | null {
  const url = URL.parse(text.trim());
  if (!url) return 'Enter a URL, e.g. https://example.com/hook.';
  if (url.protocol !== 'https:' && !(isPlainHTTP && url.protocol === 'http:'))
    return 'The URL must start with https://.';
  if (url.username !== '' || url.password !== '') return 'The URL must not contain a username or password.';
  // On a single machine, receivers are local too.
  if (isPlainHTTP) return null;
  if (INSIDE.some((address) => address.test(url.hostname)))
    return 'The URL must have a public address: this one is private or reserved.';
  if (url.hostname === 'localhost' || !/[.:]/.test(url.hostname))
    return 'The URL must have a public host name.';
  return null;
}
