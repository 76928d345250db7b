/** Who pays for a queued request, and how much. Pure. */

/** With the most characters of each; what is longer no function wrote. */
const FIELDS = { api_key: 24, price: 24, key_name: 253, images: 4 } as const;
type Field = keyof typeof FIELDS;
/** Of a record, in the order in which the functions show them. */
export const CHARGE_FIELDS = Object.keys(FIELDS) as Field[];

export interface Charge {
  /** 24 digits of the SHA-256 of the key that submitted it. */
  keyHash: string;
  /** Of the APIKey, or `console:` and a user; null of a record that is older than the field. */
  keyName: string | null;
  /** The price in millionths; nothing of it is left to pay where the request failed or was canceled. */
  micros: number;
  /** That were asked for; null of a video. */
  images: number | null;
}

/** Whose request it was, and its price; null where the record does not say. */
export function decodeCharge(fields: Partial<Record<Field, string | undefined>>): Charge | null {
  if (CHARGE_FIELDS.some((field) => (fields[field] ?? '').length > FIELDS[field])) return null;
  const { api_key: keyHash, price, key_name: keyName, images } = fields;
  if (!keyHash || !price || !Number.isSafeInteger(Number(price))) return null;
  return { keyHash, keyName: keyName || null, micros: Number(price), images: Number(images) || null };
}
