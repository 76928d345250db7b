/** The StorageCredential resource: a customer's own bucket. */
import { z } from 'zod';
import {
  cel,
  conditions,
  customObject,
  immutableId,
  objectName,
  observedGeneration,
  type ResourceDefinition,
} from './kubernetes-types.ts';

const ENDPOINT = {
  pattern: '^https?://[^/?#@ ]+/?$',
  message: 'must be an origin such as https://s3.example.com, without a path or a user',
};
const BUCKET = {
  pattern: '^[a-z0-9][a-z0-9.-]+[a-z0-9]$',
  message: 'must be the name of a bucket: lowercase letters, digits, dots and hyphens',
};
const REGION = { pattern: '^[A-Za-z0-9-]+$', message: 'must be the name of a region such as eu-central-1' };
const PREFIX = {
  pattern: '^$|^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?$',
  message:
    'must be empty or such as berth/results/: letters, digits, "-", "_" and ".", no "/" at the beginning, no ".."',
};

/** A text that both sides validate, the API server with a readable message instead of the pattern. */
const checked = (text: z.ZodString, { pattern, message }: { pattern: string; message: string }) => {
  const expression = new RegExp(pattern);
  return text
    .refine((value) => expression.test(value), message)
    .meta(cel({ rule: `self.matches('${pattern}')`, message }));
};

export const storageCredentialSpec = z.object({
  id: immutableId('Value of storage_credential_id; derived from the name if absent.'),
  endpoint: checked(z.string().max(512), ENDPOINT)
    .optional()
    .describe('URL of the store, without a path; AWS if absent.'),
  region: checked(z.string().min(1).max(64), REGION).default('us-east-1').describe('Region of the bucket.'),
  bucket: checked(z.string().min(3).max(63), BUCKET).describe('Bucket that receives results.'),
  prefix: checked(z.string().max(512), PREFIX)
    .default('')
    .describe('Prepended to every key as is, such as `berth/`.'),
  pathStyle: z
    .boolean()
    .default(true)
    .describe('Address the bucket by path, as MinIO does; false for AWS virtual hosts.'),
  secret: objectName(
    'Secret with keys accessKeyId and secretAccessKey (static keys only: a session token would break 7-day links).',
  ),
});

export const storageCredentialStatus = z.object({
  observedGeneration,
  id: z.int().optional().describe('Id in use: spec.id, or the derived one.'),
  lastHandledVerify: z
    .string()
    .optional()
    .describe('The value of the annotation berth.dev/verify whose check the condition Verified reports.'),
  conditions,
});

export const storageCredential = customObject(
  'StorageCredential',
  storageCredentialSpec,
  storageCredentialStatus,
);
export type StorageCredential = z.infer<typeof storageCredential>;

export const storageCredentialResource: ResourceDefinition = {
  kind: 'StorageCredential',
  plural: 'storagecredentials',
  singular: 'storagecredential',
  shortNames: ['sc', 'scred'],
  spec: storageCredentialSpec,
  status: storageCredentialStatus,
  columns: [
    { name: 'Id', type: 'integer', jsonPath: '.status.id' },
    { name: 'Bucket', type: 'string', jsonPath: '.spec.bucket' },
    { name: 'Verified', type: 'string', jsonPath: '.status.conditions[?(@.type=="Verified")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
