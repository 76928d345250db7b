/** Request bodies of the API, validated with the schemas of the resources. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { apiKeySpec } from '../../../api/api-key.ts';
import { FIELD_MESSAGES } from '../../../api/field-messages.ts';
import { storageCredentialSpec } from '../../../api/storage-credential.ts';
import { webhookEndpointSpec } from '../../../api/webhook-endpoint.ts';
import { BodyTooLargeError, readBody as readBytes } from '../../../kit/bounded-body.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../../kit/json-cost.ts';
import { ConsoleError } from './error.ts';

const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_PATH_LENGTH = 8 * 1024;
const MAX_BODY_BYTES = 64 * 1024;
/** From the request headers to the end of the body. */
const BODY_TIMEOUT_MS = 15_000;

const name = z
  .string()
  .min(1)
  .max(200)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    'must be lowercase letters, numbers, "-" and ".", such as my-name, and start and end with a letter or number',
  );

/** Also for path parameters. */
export const namespaceName = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'must be a namespace name: lowercase letters, numbers and "-", such as team-a',
  );

/** Without defaults, which the API server sets. */
const { rpm, tpd, priority, expiresAt } = apiKeySpec.shape;
const { url, eventTypes, signingSecret } = webhookEndpointSpec.shape;
const { endpoint, region, bucket, prefix } = storageCredentialSpec.shape;

export const signInBody = z.strictObject({
  token: z
    .string()
    .trim()
    .min(1, 'must be a bearer token')
    .max(MAX_TOKEN_LENGTH)
    .regex(/^[\x21-\x7e]+$/, 'must be a single bearer token without spaces'),
  namespace: namespaceName.optional(),
});

export const oidcSignInBody = z.strictObject({
  returnTo: z.string().max(MAX_PATH_LENGTH),
  namespace: namespaceName.optional(),
});

const limits = {
  rpm: rpm.unwrap().optional(),
  tpd: tpd.unwrap().optional(),
  priority: priority.unwrap().optional(),
};
export const newKeyBody = z.strictObject({
  name,
  ...limits,
  expiresAt: expiresAt.refine(
    (time) => time === undefined || Date.parse(time) > Date.now(),
    'must be in the future',
  ),
});
export const keyRollBody = z.strictObject({ name, keepOld: z.boolean() });
export const keyChangeBody = z.strictObject({ disabled: z.boolean().optional(), ...limits });

const count = z.int().min(0).max(1_000);
export const deploymentChangeBody = z.strictObject({
  paused: z.boolean().optional(),
  replicas: count.optional(),
  scaling: z.strictObject({ min: count, max: count.min(1) }).optional(),
});

export const manifestBody = z.strictObject({
  manifest: z.unknown(),
  version: z.string().min(1).max(100).optional(),
});

export const resendBody = z.strictObject({
  endpoint: z.string().max(253).optional(),
  since: z.iso.datetime({ offset: true }),
});

export const rollBody = z.strictObject({ keepOld: z.boolean().default(false) });

export const newWebhookBody = z.strictObject({
  name,
  url,
  eventTypes: eventTypes.unwrap().optional(),
  signingSecret: signingSecret.unwrap().optional(),
});
export const webhookChangeBody = z.strictObject({
  url: url.optional(),
  eventTypes: eventTypes.unwrap().optional(),
  enabled: z.boolean().optional(),
  signingSecret: signingSecret.unwrap().optional(),
  reEnable: z.literal(true).optional(),
});

const secretText = z
  .string()
  .trim()
  .min(1)
  .max(1024)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');

export const newStorageCredentialBody = z.strictObject({
  name,
  endpoint,
  region: region.unwrap().optional(),
  bucket,
  prefix: prefix.unwrap().optional(),
  pathStyle: z.boolean().optional(),
  accessKeyId: secretText,
  secretAccessKey: secretText,
});

/** Reads a JSON body. Throws ConsoleError with the field in `param`. */
export async function readBody<S extends z.ZodType>(
  req: IncomingMessage,
  schema: S,
  timeoutMs = BODY_TIMEOUT_MS,
): Promise<z.output<S>> {
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw new ConsoleError('unsupported_media_type', 'The Content-Type must be application/json.');
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(new ConsoleError('request_timeout', `The body was not received within ${timeoutMs} ms.`)),
    timeoutMs,
  );
  try {
    return check(parseJSON(await Promise.race([readBounded(req), late.promise])), schema);
  } finally {
    clearTimeout(timer);
  }
}

/** Validates query parameters the same way. */
export function check<S extends z.ZodType>(value: unknown, schema: S): z.output<S> {
  const result = schema.safeParse(value, FIELD_MESSAGES);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const field = issue.code === 'unrecognized_keys' ? issue.keys[0]! : issue.path.join('.');
  const subject = field === '' ? 'The body' : `${field}:`;
  throw new ConsoleError('invalid_request_error', `${subject} ${issue.message}.`, { param: field || null });
}

function parseJSON(body: Buffer): unknown {
  if (isTooDeep(body))
    throw new ConsoleError('invalid_json', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    throw new ConsoleError('invalid_json', `The body is not valid JSON: ${(error as Error).message}`);
  }
}

async function readBounded(req: IncomingMessage): Promise<Buffer> {
  // Keeps the connection open for the error response.
  const source = req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    return await readBytes(source, MAX_BODY_BYTES);
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new ConsoleError('request_too_large', `The body exceeds ${MAX_BODY_BYTES} bytes.`);
  }
}
