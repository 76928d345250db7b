/** The names under which clients send several files of one field. Pure. */

/** `image[]`, `image[0]` and `image` are one field. Linear in the length of the name, which tenants choose. */
export function normalizeField(name: string): string {
  const bracket = name.endsWith(']') ? name.lastIndexOf('[') : -1;
  return bracket === -1 ? name : name.slice(0, bracket);
}

/** Members of an object in place of a file; SDKs write them as `image[0][image_url]`. */
export const REFERENCE_MEMBERS = ['image_url', 'file_id'] as const;

/** Splits `image[0][image_url]` into the field `image[0]` and the member; null for other names. */
export function splitReference(name: string): { name: string; member: string } | null {
  const member = REFERENCE_MEMBERS.find((each) => name.endsWith(`[${each}]`));
  return member === undefined ? null : { name: name.slice(0, -member.length - 2), member };
}

export interface NumberedField {
  field: string;
  /** The 0 of `image[0]`; null if the name has none. */
  number: number | null;
}

/** Reads the 0 of `image[0]`; null if the name has none. */
export const readNumber = (name: string): number | null => {
  const [, digits] = /\[(\d{1,3})\]$/.exec(name) ?? [];
  return digits === undefined ? null : Number(digits);
};

/** Numbers define the order if all files of a field have one: clients may send the parts in any order. */
export function sortByNumber<T extends NumberedField>(files: readonly T[]): T[] {
  const isNumbered = (field: string) => files.every((file) => file.field !== field || file.number !== null);
  const fields = [...new Set(files.map(({ field }) => field))];
  return fields.flatMap((field) => {
    const own = files.filter((file) => file.field === field);
    return isNumbered(field) ? own.sort((a, b) => a.number! - b.number!) : own;
  });
}
