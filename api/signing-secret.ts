/** A workspace's signing secret as it lies in Redis: sealed with the workspace's data key. */
import { SIGNING_SECRET_FIELD } from './names.ts';
import { configKeys } from './redis-keys.ts';
import { openText, sealText } from './sealed-text.ts';

/** What signs a workspace's deliveries. */
export interface SigningSecrets {
  current: string;
  /** Signs beside it until then (Unix milliseconds), for receivers that do not know the new one yet. */
  previous: { secret: string; until: number } | null;
}

/** Of the Secret that holds a signing secret, beside SIGNING_SECRET_FIELD. */
export const PREVIOUS_SECRET_FIELD = 'previous';
/** ISO. */
export const PREVIOUS_UNTIL_FIELD = 'previous-until';

/** No secret that anybody types has it. */
const SEPARATOR = '\u0000';

/** As one text, to be sealed: the secret alone where it was not rolled with an overlap. */
export function joinSigningSecrets({ current, previous }: SigningSecrets): string {
  return previous ? [current, previous.secret, previous.until].join(SEPARATOR) : current;
}

export function splitSigningSecrets(text: string): SigningSecrets {
  const [current = '', secret, until] = text.split(SEPARATOR);
  return { current, previous: secret ? { secret, until: Number(until) } : null };
}

/** From the texts of a Secret's fields; undefined where it holds none. */
export function readSigningSecrets(texts: Readonly<Record<string, string>>): SigningSecrets | undefined {
  const current = texts[SIGNING_SECRET_FIELD];
  if (!current) return undefined;
  const secret = texts[PREVIOUS_SECRET_FIELD];
  const until = Date.parse(texts[PREVIOUS_UNTIL_FIELD] ?? '');
  return { current, previous: secret && !Number.isNaN(until) ? { secret, until } : null };
}

const placeOf = (namespace: string) => [configKeys(namespace).workspace, 'signing-secret'];

/** `dataKey`: as workspaceDataKey gives. */
export const sealSigningSecret = (secret: string, namespace: string, dataKey: Buffer): string =>
  sealText(secret, placeOf(namespace), dataKey);

/** null for what was changed or belongs to another workspace. */
export const openSigningSecret = (sealed: string, namespace: string, dataKey: Buffer): string | null =>
  openText(sealed, placeOf(namespace), dataKey);
