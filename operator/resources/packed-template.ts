/** Pod templates as compact text: thousands of Deployments are cached, and their templates are rarely read. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** No JSON begins with it. */
const PREFIX = 'packed:';
/** All annotations of an object together are shorter. */
const MAX_TEXT_BYTES = 256 * 1024;

/** A string with one byte per character, about a third as long. */
export const packTemplate = (text: string): string =>
  text.startsWith(PREFIX) ? text : PREFIX + deflateRawSync(text).toString('latin1');

/** Unpacks the result of `packTemplate`; other text is returned unchanged. Throws if it is neither. */
export function unpackTemplate(text: string): string {
  if (!text.startsWith(PREFIX)) return text;
  const packed = Buffer.from(text.slice(PREFIX.length), 'latin1');
  return inflateRawSync(packed, { maxOutputLength: MAX_TEXT_BYTES }).toString();
}
