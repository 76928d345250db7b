/** The StorageCredential resource: a customer's own bucket. */
import { z } from 'zod';
import {
  API_VERSION,
  cel,
  conditions,
  objectMeta,
  objectName,
  type ResourceDefinition,
} from './kubernetes-types.ts';

export const storageCredentialSpec = z.object({
  id: z
    .int()
    .min(1)
    .max(281_474_976_710_655)
    .optional()
    .meta({
      description: 'What storage_credential_id names; derived from the name if absent.',
      ...cel({ rule: 'self == oldSelf', message: 'id is immutable' }),
    }),
  endpoint: z.string().max(512).optional().describe('URL of the store; AWS if absent.'),
  region: z.string().min(1).max(64).default('us-east-1'),
  bucket: z.string().min(3).max(63).describe('Bucket to which results go.'),
  prefix: z.string().max(512).default('').describe('Prepended to every key.'),
  pathStyle: z
    .boolean()
    .default(true)
    .describe('Address the bucket by path, as MinIO does; false for AWS virtual hosts.'),
  secret: objectName(
    'Secret with keys accessKeyId and secretAccessKey (static keys only: a session token would break 7-day links).',
  ),
});

export const storageCredentialStatus = z.object({
  observedGeneration: z.int().optional(),
  id: z.int().optional(),
  conditions,
});

export const storageCredential = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('StorageCredential'),
  metadata: objectMeta,
  spec: storageCredentialSpec,
  status: storageCredentialStatus.prefault({}),
});
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
