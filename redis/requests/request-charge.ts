/** Who pays for a queued request, and how much. Pure. */
import { parseCount } from '../untrusted-values.ts';

/** With the maximum characters of each; no function writes more. */
const FIELDS = { api_key: 24, price: 24, key_name: 253, images: 4 } as const;
type Field = keyof typeof FIELDS;
const CHARGE_FIELDS = Object.keys(FIELDS) as Field[];

export interface RequestCharge {
  /** 24 digits of the SHA-256 of the key that submitted it. */
  keyHash: string;
  /** Name of the APIKey, or `console:` and a user; null if the record is older than the field. */
  keyName: string | null;
  /** The price in millionths; nothing is charged if the request failed or was canceled. */
  micros: number;
  /** Requested number; null for a video. */
  images: number | null;
}

/** Whose request it was, and its price; null if not in the record. */
export function decodeCharge(fields: Partial<Record<Field, string | undefined>>): RequestCharge | null {
  if (CHARGE_FIELDS.some((field) => (fields[field] ?? '').length > FIELDS[field])) return null;
  const { api_key: keyHash, price, key_name: keyName, images } = fields;
  const micros = parseCount(price);
  if (!keyHash || micros === null) return null;
  return { keyHash, keyName: keyName || null, micros, images: parseCount(images) || null };
}
