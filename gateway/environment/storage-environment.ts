/** A gateway's storage configuration: where results go, and who may sign for them. */
import { join } from 'node:path';
import { GATEWAY_VARIABLES } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES, SIDECAR_SECRET_FILES } from '../../api/names.ts';
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

/** Where the Secret is mounted. */
export const secretFolder = (env: Environment): string => env.read(GATEWAY_VARIABLES.secretPath);

export function readSidecarStorage(env: Environment): SidecarStorageEnvironment {
  const url = env.read(GATEWAY_VARIABLES.storageURL) ?? null;
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
  const path = env.read(GATEWAY_VARIABLES.storageFolder);
  const name = env.read(GATEWAY_VARIABLES.s3Bucket);
  const bucket = name ? readBucket(env, name) : null;
  if (path && bucket)
    env.fail(
      `${GATEWAY_VARIABLES.storageFolder.name} and ${GATEWAY_VARIABLES.s3Bucket.name} are mutually exclusive`,
      undefined,
    );
  return {
    masterKey: readSecret(env, FRONT_SECRET_FILES.masterKey),
    bucket,
    spool: readSpool(env),
    folder: path ? { path, port: env.read(GATEWAY_VARIABLES.storagePort) } : null,
  };
}

const readBucket = (env: Environment, bucket: string): BucketEnvironment => ({
  bucket,
  endpoint: env.read(GATEWAY_VARIABLES.s3Endpoint) ?? null,
  publicEndpoint: env.read(GATEWAY_VARIABLES.s3PublicEndpoint) ?? null,
  region: env.read(GATEWAY_VARIABLES.s3Region),
  prefix: env.read(GATEWAY_VARIABLES.s3Prefix),
  pathStyle: env.read(GATEWAY_VARIABLES.s3PathStyle),
  accessKeyId: readSecret(env, FRONT_SECRET_FILES.s3AccessKeyId),
  secretAccessKey: readSecret(env, FRONT_SECRET_FILES.s3SecretAccessKey),
});

const readSecret = (env: Environment, file: string): string =>
  env.requiredFile(join(secretFolder(env), file), GATEWAY_VARIABLES.secretPath);

const readSpool = (env: Environment): SpoolOptions => ({
  folder: env.read(GATEWAY_VARIABLES.spoolPath) ?? nameSpoolFolder(),
  maxBytes: env.read(GATEWAY_VARIABLES.spoolBytes),
});
