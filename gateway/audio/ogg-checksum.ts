/** The checksum of an Ogg page: CRC-32 with the opposite bit order of zlib's. */

const POLYNOMIAL = 0x04c11db7;
const CHECKSUM_AT = 22;

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24;
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ (value < 0 ? POLYNOMIAL : 0);
  return value >>> 0;
});

/** Decoders skip a page with a wrong checksum. */
export function checkPage(page: Buffer): boolean {
  let sum = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = at >= CHECKSUM_AT && at < CHECKSUM_AT + 4 ? 0 : page[at]!;
    sum = (sum << 8) ^ TABLE[(sum >>> 24) ^ byte]!;
  }
  return sum >>> 0 === page.readUInt32LE(CHECKSUM_AT);
}
