/** A gateway's storage configuration: where results go, and who may sign for them. */
import { join } from 'node:path';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES, SIDECAR_SECRET_FILES, SIDECAR_SECRET_PATH } from '../../api/names.ts';
import { type Environment, readTextFile } from '../../kit/environment.ts';
import type { SpoolOptions } from '../storage/spool.ts';
import { nameSpoolFolder } from '../storage/spool-folder.ts';

export interface SidecarStorageEnvironment {
  /** Origin of the fronts' storage service; null = the installation has none. */
  url: string | null;
  token: string;
  /** First 8 digits of the workspace's request ids. */
  requestPrefix: string;
  spool: SpoolOptions;
}

/** The managed bucket. */
export interface BucketEnvironment {
  bucket: string;
  endpoint: string | null;
  publicEndpoint: string | null;
  region: string;
  prefix: string;
  pathStyle: boolean;
  accessKeyId: string;
  secretAccessKey: string;
}

export interface ServerStorageEnvironment {
  /** All secrets derive from it. */
  masterKey: string;
  /** null: results are stored only with storage credentials. */
  bucket: BucketEnvironment | null;
  spool: SpoolOptions;
}

export interface FrontStorageEnvironment extends ServerStorageEnvironment {
  /** Replaces a bucket, with the port of its links. */
  folder: { path: string; port: number } | null;
}

const DEFAULT_SPOOL_BYTES = 1024 ** 3;
const MAX_SPOOL_BYTES = 2 ** 50;

/** Where the Secret is mounted. */
export const secretFolder = (env: Environment): string =>
  env.text(GATEWAY_ENV.secretPath) ?? SIDECAR_SECRET_PATH;

export function readSidecarStorage(env: Environment): SidecarStorageEnvironment {
  const url = env.origin(GATEWAY_ENV.storageURL) ?? null;
  const read = (file: string) =>
    url === null ? (readTextFile(join(secretFolder(env), file)) ?? '') : readSecret(env, file);
  return {
    url,
    token: read(SIDECAR_SECRET_FILES.storageToken),
    requestPrefix: read(SIDECAR_SECRET_FILES.requestPrefix),
    spool: readSpool(env),
  };
}

export function readFrontStorage(env: Environment): FrontStorageEnvironment {
  const path = env.text(GATEWAY_ENV.storageFolder);
  const bucket = env.text(GATEWAY_ENV.s3Bucket) ? readBucket(env) : null;
  if (path && bucket)
    env.fail(`${GATEWAY_ENV.storageFolder} and ${GATEWAY_ENV.s3Bucket} are mutually exclusive`, undefined);
  return {
    masterKey: readSecret(env, FRONT_SECRET_FILES.masterKey),
    bucket,
    spool: readSpool(env),
    folder: path ? { path, port: env.port(GATEWAY_ENV.storagePort, 0) } : null,
  };
}

const readBucket = (env: Environment): BucketEnvironment => ({
  bucket: env.required(GATEWAY_ENV.s3Bucket),
  endpoint: env.origin(GATEWAY_ENV.s3Endpoint) ?? null,
  publicEndpoint: env.origin(GATEWAY_ENV.s3PublicEndpoint) ?? null,
  region: env.text(GATEWAY_ENV.s3Region) ?? 'us-east-1',
  prefix: env.text(GATEWAY_ENV.s3Prefix) ?? '',
  pathStyle: env.flag(GATEWAY_ENV.s3PathStyle, true),
  accessKeyId: readSecret(env, FRONT_SECRET_FILES.s3AccessKeyId),
  secretAccessKey: readSecret(env, FRONT_SECRET_FILES.s3SecretAccessKey),
});

const readSecret = (env: Environment, file: string): string =>
  env.requiredFile(join(secretFolder(env), file), GATEWAY_ENV.secretPath);

const readSpool = (env: Environment): SpoolOptions => ({
  folder: env.text(GATEWAY_ENV.spoolPath) ?? nameSpoolFolder(),
  maxBytes: env.integer(GATEWAY_ENV.spoolBytes, { fallback: DEFAULT_SPOOL_BYTES, max: MAX_SPOOL_BYTES }),
});
