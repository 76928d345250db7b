/** Schemas of the bodies that the console's API takes: those of the resources, without defaults, which the API server sets. */
import { z } from 'zod';
import { apiKeySpec } from '../api/api-key.ts';
import { storageCredentialSpec } from '../api/storage-credential.ts';
import { webhookEndpointSpec } from '../api/webhook-endpoint.ts';

const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_PATH_LENGTH = 8 * 1024;

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

const secretText = z
  .string()
  .trim()
  .min(1)
  .max(1024)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');

const count = z.int().min(0).max(1_000);

const { rpm, tpd, priority, expiresAt } = apiKeySpec.shape;
const { url, eventTypes, signingSecret } = webhookEndpointSpec.shape;
const { endpoint, region, bucket, prefix } = storageCredentialSpec.shape;
const limits = {
  rpm: rpm.unwrap().optional(),
  tpd: tpd.unwrap().optional(),
  priority: priority.unwrap().optional(),
};
const subscription = {
  eventTypes: eventTypes.unwrap().optional(),
  signingSecret: signingSecret.unwrap().optional(),
};

export const bodies = {
  /** `namespace`: the default of users who cannot list namespaces and whose token names none. */
  signIn: z.strictObject({
    token: z
      .string()
      .trim()
      .min(1, 'must be a bearer token')
      .max(MAX_TOKEN_LENGTH)
      .regex(/^[\x21-\x7e]+$/, 'must be a single bearer token without spaces'),
    namespace: namespaceName.optional(),
  }),
  /** `returnTo`: path and query of the page to which the browser returns. */
  oidcSignIn: z.strictObject({
    returnTo: z.string().max(MAX_PATH_LENGTH),
    namespace: namespaceName.optional(),
  }),
  newKey: z.strictObject({
    name,
    ...limits,
    expiresAt: expiresAt.refine(
      (time) => time === undefined || Date.parse(time) > Date.now(),
      'must be in the future',
    ),
  }),
  /** `name`: of the new key. `keepOld`: the old one works for another 24 h, unless it expires before; otherwise it is disabled. */
  keyRoll: z.strictObject({ name, keepOld: z.boolean() }),
  keyChange: z.strictObject({ disabled: z.boolean().optional(), ...limits }),
  /** `replicas`: of a deployment without `scaling`. */
  deploymentChange: z.strictObject({
    paused: z.boolean().optional(),
    replicas: count.optional(),
    scaling: z.strictObject({ min: count, max: count.min(1) }).optional(),
  }),
  /** `version`: of what was edited; 409 if the object was changed since. */
  manifest: z.strictObject({
    manifest: z.unknown(),
    version: z.string().min(1).max(100).optional(),
  }),
  /** `version`: of the spec whose difference was shown; 409 if it was changed since. */
  rollback: z.strictObject({ revision: z.int().min(1), version: z.string().min(1).max(100) }),
  /** `endpoint`: `-` names inline callbacks; all if absent. */
  resend: z.strictObject({
    endpoint: z.string().max(253).optional(),
    since: z.iso.datetime({ offset: true }),
  }),
  /** `keepOld`: the old secret also signs for 24 h; otherwise it expires immediately. */
  secretRoll: z.strictObject({ keepOld: z.boolean().default(false) }),
  newWebhook: z.strictObject({ name, url, ...subscription }),
  /** `reEnable`: resets the failure counter. */
  webhookChange: z.strictObject({
    url: url.optional(),
    ...subscription,
    enabled: z.boolean().optional(),
    reEnable: z.literal(true).optional(),
  }),
  newStorageCredential: z.strictObject({
    name,
    endpoint,
    region: region.unwrap().optional(),
    bucket,
    prefix: prefix.unwrap().optional(),
    pathStyle: z.boolean().optional(),
    accessKeyId: secretText,
    secretAccessKey: secretText,
  }),
};
