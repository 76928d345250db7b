/**
 * Pod templates as compact text: thousands of Deployments are cached, and their templates are rarely read. Deployments store them plain
 * until every operator to which one may roll back reads this form.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** No JSON begins with it. */
const PREFIX = 'packed:';
/** All annotations of an object together are shorter. */
const MAX_TEXT_BYTES = 256 * 1024;

/** About 0.4 times as long; unchanged if it is packed already, or would be no shorter. */
export function packTemplate(text: string): string {
  if (text.startsWith(PREFIX)) return text;
  const packed = PREFIX + deflateRawSync(text).toString('base64');
  return packed.length < text.length ? packed : text;
}

/** Unpacks the result of `packTemplate`; other text is returned unchanged. Throws if it is neither. */
export function unpackTemplate(text: string): string {
  if (!text.startsWith(PREFIX)) return text;
  const packed = Buffer.from(text.slice(PREFIX.length), 'base64');
  return inflateRawSync(packed, { maxOutputLength: MAX_TEXT_BYTES }).toString();
}
