/** What is plainly wrong with a receiver's address, before the operator is asked. Pure. */

/** Addresses that lead nowhere outside, as URLs spell them once they are parsed. */
const INSIDE = [
  /^(0|10|127)\./,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./,
  /^169\.254\./,
  /^172\.(1[6-9]|2\d|3[01])\./,
  /^192\.168\./,
  /^(22[4-9]|2[3-5]\d)\./,
  /^\[(::1?|::ffff:.*|f[cdf].*|fe[89ab].*)\]$/,
];

/** null where nothing is; the operator has the last word. `isPlainHTTP`: the console itself was reached so. */
export function findURLFault(text: string, isPlainHTTP: boolean): string | null {
  const url = URL.parse(text.trim());
  if (!url) return 'Enter a valid URL, such as https://example.com/hook.';
  if (url.protocol !== 'https:' && !(isPlainHTTP && url.protocol === 'http:'))
    return 'The URL must start with https://.';
  if (url.username !== '' || url.password !== '') return 'The URL must not contain a username or password.';
  // Where all is on one machine, receivers are too.
  if (isPlainHTTP) return null;
  if (INSIDE.some((address) => address.test(url.hostname)))
    return 'The URL must have a public address: this one is private or reserved.';
  if (url.hostname === 'localhost' || !/[.:]/.test(url.hostname))
    return 'The URL must have a public host name.';
  return null;
}
