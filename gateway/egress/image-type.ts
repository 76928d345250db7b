/** What an image is by its first bytes; what its server calls it is not believed. */

type Signature = readonly [type: string, start: RegExp];

const SIGNATURES: readonly Signature[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/gif', /^GIF8[79]a/],
];
const LONGEST_SIGNATURE = 12;

/** null for all but PNG, JPEG, WebP and GIF. */
export function sniffImageType(bytes: Buffer): string | null {
  const start = bytes.toString('latin1', 0, LONGEST_SIGNATURE);
  return SIGNATURES.find(([, pattern]) => pattern.test(start))?.[0] ?? null;
}
