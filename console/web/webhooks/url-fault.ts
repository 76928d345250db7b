/** What is plainly wrong with a receiver's address, before the operator is asked. Pure. */

const LITERAL = /^(\[.*\]|[0-9.]+|0x[0-9a-f]+)$/i;

/** null where nothing is; the operator has the last word. `isPlainHTTP`: the console itself was reached so. */
export function findURLFault(text: string, isPlainHTTP: boolean): string | null {
  const url = URL.parse(text.trim());
  if (!url) return 'This is no URL: such as https://example.com/hook.';
  if (url.protocol !== 'https:' && !(isPlainHTTP && url.protocol === 'http:'))
    return 'It must begin with https://.';
  if (url.username !== '' || url.password !== '') return 'It must hold no user name and no password.';
  if (isPlainHTTP) return null;
  if (LITERAL.test(url.hostname)) return 'It must name a host, not a number.';
  if (url.hostname === 'localhost' || !url.hostname.includes('.'))
    return 'It must be a public address: this name leads nowhere outside.';
  return null;
}
