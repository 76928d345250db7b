/** The pods' template as text in little memory: thousands of Deployments are cached, and nearly none of their templates read. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** No JSON begins with it. */
const PREFIX = 'packed:';
/** All annotations of an object together are shorter. */
const MAX_TEXT_BYTES = 256 * 1024;

/** A string of one byte a character, about a third as long. */
export const packTemplate = (text: string): string =>
  text.startsWith(PREFIX) ? text : PREFIX + deflateRawSync(text).toString('latin1');

/** The text of what `packTemplate` made; any other text as it is. Throws where it is neither. */
export function unpackTemplate(text: string): string {
  if (!text.startsWith(PREFIX)) return text;
  const packed = Buffer.from(text.slice(PREFIX.length), 'latin1');
  return inflateRawSync(packed, { maxOutputLength: MAX_TEXT_BYTES }).toString();
}
