/** What tells a repeat of a request from another one with the same idempotency key: a digest of each field. */
import { createHash, createHmac } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** Nobody can guess a field by it without the header, which is kept nowhere. */
const DIGEST_DIGITS = 16;

export type FieldTexts = readonly (readonly [name: string, text: string])[];

export type FormFiles = readonly { field: string; file: { path: string } }[];

/** `name:digest` of each field, with commas between. */
export function fingerprintFields(fields: FieldTexts, secret: { sha256: string; header: string }): string {
  const key = `${secret.sha256}\n${secret.header}`;
  return fields.map(([name, text]) => `${name}:${digest(key, name, text)}`).join(',');
}

const digest = (key: string, name: string, text: string): string =>
  createHmac('sha256', key).update(`${name}\n${text}`).digest('hex').slice(0, DIGEST_DIGITS);

/** The first field that the repeat carries and the original had not so; what it leaves out is as it was. */
export function findDifference(original: string, repeat: string): string | null {
  const known = new Set(original.split(','));
  const other = repeat === '' ? undefined : repeat.split(',').find((field) => !known.has(field));
  return other === undefined ? null : other.slice(0, other.lastIndexOf(':'));
}

/** Each file under its field and its turn there. */
export async function listFileTexts(files: FormFiles): Promise<[name: string, text: string][]> {
  const turns = new Map<string, number>();
  const texts: [string, string][] = [];
  for (const { field, file } of files) {
    const turn = (turns.get(field) ?? 0) + 1;
    turns.set(field, turn);
    const hash = createHash('sha256');
    await pipeline(createReadStream(file.path), hash);
    texts.push([turn === 1 ? field : `${field}[${turn}]`, hash.digest('hex')]);
  }
  return texts;
}
