/** Settings of the program that fills a weights cache, and the layout of the cache's volume. */

/** Environment variables that the loader reads (weights/environment.ts). */
export const WEIGHTS_ENV = {
  /** Folder of the cache. */
  cachePath: 'WEIGHTS_CACHE_PATH',
  /** Folder within the cache for this source alone. */
  entry: 'WEIGHTS_ENTRY',
  /** Limit of all models in the cache in bytes; the volume's size if absent. */
  limitBytes: 'WEIGHTS_LIMIT_BYTES',
  /** The pod whose engine will read the weights; absent for a prefetch, which evicts nothing. */
  podName: 'WEIGHTS_POD_NAME',
  /** Repository on a hub, or… */
  repository: 'WEIGHTS_REPOSITORY',
  revision: 'WEIGHTS_REVISION',
  hub: 'HF_ENDPOINT',
  token: 'HF_TOKEN',
  /** …an s3:// URI. */
  s3URI: 'WEIGHTS_S3_URI',
  s3Endpoint: 'WEIGHTS_S3_ENDPOINT',
  s3Region: 'WEIGHTS_S3_REGION',
  s3PathStyle: 'WEIGHTS_S3_PATH_STYLE',
  s3AccessKeyId: 'WEIGHTS_S3_ACCESS_KEY_ID',
  s3SecretAccessKey: 'WEIGHTS_S3_SECRET_ACCESS_KEY',
  /** `true`: credentials come from the pod's own identity. */
  s3WorkloadIdentity: 'WEIGHTS_S3_WORKLOAD_IDENTITY',
} as const;

/** Folder of an entry that leads to the model completed last. */
export const CURRENT = 'current';
/** Folder of an entry with a file for each pod that reads it: what is in use is never evicted. */
export const LEASES = 'leases';
/** Renewal interval of a pod's lease, by the gateway beside the engine. */
export const LEASE_INTERVAL_MS = 60_000;
/** A lease that was not renewed for this long has expired. */
export const LEASE_TTL_MS = 10 * LEASE_INTERVAL_MS;
