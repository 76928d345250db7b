/** Settings of the program that fills a weights cache, and the layout of the cache's volume. */
import { flag, integer, namesOf, required, text } from './variables.ts';

/** The loader's environment (weights/environment.ts). */
export const WEIGHTS_VARIABLES = {
  cachePath: required(text('WEIGHTS_CACHE_PATH', 'Folder of the cache.')),
  entry: required(text('WEIGHTS_ENTRY', 'Folder within the cache for this source alone.')),
  limitBytes: integer(
    'WEIGHTS_LIMIT_BYTES',
    "Limit of all models in the cache; the volume's size if unset.",
    {
      max: Number.MAX_SAFE_INTEGER,
    },
  ),
  podName: text(
    'WEIGHTS_POD_NAME',
    'The pod whose engine will read the weights; unset for a prefetch, which evicts nothing.',
  ),
  isRequired: flag(
    'WEIGHTS_REQUIRED',
    'Whether a prefetch fails where there is no space: nothing else downloads these weights.',
  ),
  repository: text('WEIGHTS_REPOSITORY', 'Repository on a hub. Either this or WEIGHTS_S3_URI is required.'),
  revision: text('WEIGHTS_REVISION', 'Branch, tag or commit of the repository; the default branch if unset.'),
  hub: text('HF_ENDPOINT', 'URL of the hub.', 'https://huggingface.co'),
  token: text('HF_TOKEN', 'Access token of the hub.'),
  s3URI: text('WEIGHTS_S3_URI', 'An s3:// URI.'),
  s3Endpoint: text('WEIGHTS_S3_ENDPOINT', 'URL of the store; AWS if unset.'),
  s3Region: text('WEIGHTS_S3_REGION', 'Region of the bucket.', 'us-east-1'),
  s3PathStyle: flag('WEIGHTS_S3_PATH_STYLE', '`false` makes the bucket a part of the host name.', true),
  s3AccessKeyId: text('WEIGHTS_S3_ACCESS_KEY_ID', 'Access key of the store; anonymous without both keys.'),
  s3SecretAccessKey: text('WEIGHTS_S3_SECRET_ACCESS_KEY', 'Its secret.'),
  s3WorkloadIdentity: flag(
    'WEIGHTS_S3_WORKLOAD_IDENTITY',
    "Whether credentials come from the pod's own identity.",
  ),
} as const;

export const WEIGHTS_ENV = namesOf(WEIGHTS_VARIABLES);

/** Folder of an entry that leads to the model completed last. */
export const CURRENT = 'current';
/** Folder of an entry with a file for each pod that reads it: what is in use is never evicted. */
export const LEASES = 'leases';
/** Renewal interval of a pod's lease, by the gateway beside the engine. */
export const LEASE_INTERVAL_MS = 60_000;
/** A lease that was not renewed for this long has expired. */
export const LEASE_TTL_MS = 10 * LEASE_INTERVAL_MS;
