/** A workspace's webhook signing secrets: as fields of a Secret, and in Redis, sealed with the workspace's data key. */
import { createHash } from 'node:crypto';
import { SIGNING_SECRET_FIELD } from './names.ts';
import { configKeys } from './redis-keys.ts';
import { openText, sealText } from './sealed-text.ts';

/** What signs a delivery. */
export interface SigningSecrets {
  current: string;
  /** Also signs until then (Unix milliseconds), for receivers that do not have the new one yet. */
  previous: { secret: string; until: number } | null;
}

/** What signs a workspace's deliveries. */
export interface WorkspaceSecrets {
  workspace: SigningSecrets;
  /** By name, of the endpoints that have a secret of their own. */
  endpoints: ReadonlyMap<string, SigningSecrets>;
}

const PREFIX = 'whsec_';
/** By Standard Webhooks. */
const [MIN_KEY_BYTES, MAX_KEY_BYTES] = [24, 64];

/** What receivers' libraries read alike: some take other texts for base64, some as they are, and some refuse them. */
export const SIGNING_SECRET_RULE = `must be ${PREFIX} followed by ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} random bytes in padded base64: echo ${PREFIX}$(openssl rand -base64 32)`;

/** The bytes of a secret; null if it is not of the form that `SIGNING_SECRET_RULE` demands. */
export function decodeSigningSecret(secret: string): Buffer | null {
  if (!secret.startsWith(PREFIX)) return null;
  const text = secret.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64');
  const isKey = bytes.length >= MIN_KEY_BYTES && bytes.length <= MAX_KEY_BYTES;
  return isKey && bytes.toString('base64') === text ? bytes : null;
}

/** The first field that holds something else than a signing secret; null if none does. */
export function findInvalidSecret(
  { current, previous }: SigningSecrets,
  fields: SecretFields = WORKSPACE_SECRET_FIELDS,
): string | null {
  if (!decodeSigningSecret(current)) return fields.secret;
  return previous && !decodeSigningSecret(previous.secret) ? fields.previous : null;
}

/** Names of the fields of the Secret that hold one signing secret. */
export interface SecretFields {
  secret: string;
  previous: string;
  /** ISO. */
  previousUntil: string;
}

export const WORKSPACE_SECRET_FIELDS: SecretFields = {
  secret: SIGNING_SECRET_FIELD,
  previous: 'previous',
  previousUntil: 'previous-until',
};

/** Object names have no underscores, so the suffix is never part of another name. */
const ENDPOINT_FIELD = /^endpoint_[^_]+/;
/** A field has 253 characters at most. */
const MAX_NAME_LENGTH = 200;

/** Fields of an endpoint's own secret. */
export function endpointSecretFields(endpoint: string): SecretFields {
  const isLong = endpoint.length > MAX_NAME_LENGTH;
  const name = isLong ? createHash('sha256').update(endpoint).digest('hex') : endpoint;
  const secret = `endpoint_${name}`;
  return { secret, previous: `${secret}_previous`, previousUntil: `${secret}_previous-until` };
}

/** The fields of endpoints' secrets, of those that are not among `kept`. */
export const listStaleFields = (fields: readonly string[], kept: Iterable<string>): string[] => {
  const known = new Set([...kept].map((endpoint) => endpointSecretFields(endpoint).secret));
  return fields.filter((field) => {
    const [secret] = ENDPOINT_FIELD.exec(field) ?? [];
    return secret !== undefined && !known.has(secret);
  });
};

/** From the texts of a Secret's fields; undefined if it has none. */
export function readSigningSecrets(
  texts: Readonly<Record<string, string>>,
  fields: SecretFields = WORKSPACE_SECRET_FIELDS,
): SigningSecrets | undefined {
  const current = texts[fields.secret];
  if (!current) return undefined;
  const secret = texts[fields.previous];
  const until = Date.parse(texts[fields.previousUntil] ?? '');
  return { current, previous: secret && !Number.isNaN(until) ? { secret, until } : null };
}

/** Secrets of the endpoints that have one of their own. */
export function readEndpointSecrets(
  texts: Readonly<Record<string, string>>,
  endpoints: Iterable<string>,
): Map<string, SigningSecrets> {
  return new Map(
    [...endpoints].flatMap((name): [string, SigningSecrets][] => {
      const secrets = readSigningSecrets(texts, endpointSecretFields(name));
      return secrets ? [[name, secrets]] : [];
    }),
  );
}

/** Not in any typed secret. */
const SEPARATOR = '\u0000';

/** As one text, to be sealed: just the workspace's secret if it was not rolled with an overlap and no endpoint has one. */
export function joinSigningSecrets({ workspace, endpoints }: WorkspaceSecrets): string {
  const { current, previous } = workspace;
  if (endpoints.size > 0)
    return [current, previous?.secret, previous?.until, JSON.stringify([...endpoints])].join(SEPARATOR);
  return previous ? [current, previous.secret, previous.until].join(SEPARATOR) : current;
}

export function splitSigningSecrets(text: string): WorkspaceSecrets {
  const [current = '', secret, until, endpoints = '[]'] = text.split(SEPARATOR);
  return {
    workspace: { current, previous: secret ? { secret, until: Number(until) } : null },
    endpoints: new Map(JSON.parse(endpoints) as [string, SigningSecrets][]),
  };
}

const placeOf = (namespace: string) => [configKeys(namespace).workspace, 'signing-secret'];

/** `dataKey`: from workspaceDataKey. */
export const sealSigningSecret = (secret: string, namespace: string, dataKey: Buffer): string =>
  sealText(secret, placeOf(namespace), dataKey);

/** null if it was changed or belongs to another workspace. */
export const openSigningSecret = (sealed: string, namespace: string, dataKey: Buffer): string | null =>
  openText(sealed, placeOf(namespace), dataKey);
