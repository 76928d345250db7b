/** Headers of stored files that Berth serves itself. */

/** Generated content must not run scripts, should it be HTML or SVG, nor be kept where others may find it. */
export const CONTENT_HEADERS = [
  ['cache-control', 'private'],
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; media-src 'self'; img-src 'self'; sandbox"],
] as const;
