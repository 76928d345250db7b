/** What a gateway's environment says of storage: where results go, and who may sign for them. */
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { FRONT_SECRET_FILES, SIDECAR_SECRET_FILES } from '../../api/names.ts';
import type { SpoolOptions } from '../storage/spool.ts';
import { nameSpoolFolder } from '../storage/spool-folder.ts';
import {
  EnvironmentError,
  readFlag,
  readInteger,
  readOrigin,
  readPort,
  readRequired,
  readSecret,
  secretFolder,
  type Variables,
} from './variables.ts';

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
  /** null: only storage credentials hold results. */
  bucket: BucketEnvironment | null;
  spool: SpoolOptions;
}

export interface FrontStorageEnvironment extends ServerStorageEnvironment {
  /** In place of a bucket, with the port of its links. */
  folder: { path: string; port: number } | null;
}

const DEFAULT_SPOOL_BYTES = 1024 ** 3;
const MAX_SPOOL_BYTES = 2 ** 50;

/** Throws EnvironmentError. */
export function readSidecarStorage(env: Variables): SidecarStorageEnvironment {
  const folder = secretFolder(env);
  const url = env[GATEWAY_ENV.storageURL] ? readOrigin(env, GATEWAY_ENV.storageURL) : null;
  return {
    url,
    token: readSecret(folder, SIDECAR_SECRET_FILES.storageToken, url !== null) ?? '',
    requestPrefix: readSecret(folder, SIDECAR_SECRET_FILES.requestPrefix, url !== null) ?? '',
    spool: readSpool(env),
  };
}

/** Throws EnvironmentError. */
export function readFrontStorage(env: Variables): FrontStorageEnvironment {
  const path = env[GATEWAY_ENV.storageFolder];
  const bucket = env[GATEWAY_ENV.s3Bucket] ? readBucket(env) : null;
  if (path && bucket)
    throw new EnvironmentError(`${GATEWAY_ENV.storageFolder} and ${GATEWAY_ENV.s3Bucket} exclude each other`);
  return {
    masterKey: readSecret(secretFolder(env), FRONT_SECRET_FILES.masterKey, true)!,
    bucket,
    spool: readSpool(env),
    folder: path ? { path, port: readPort(env, GATEWAY_ENV.storagePort, 0) } : null,
  };
}

function readBucket(env: Variables): BucketEnvironment {
  const folder = secretFolder(env);
  const readURL = (name: string) => (env[name] ? readOrigin(env, name) : null);
  return {
    bucket: readRequired(env, GATEWAY_ENV.s3Bucket),
    endpoint: readURL(GATEWAY_ENV.s3Endpoint),
    publicEndpoint: readURL(GATEWAY_ENV.s3PublicEndpoint),
    region: env[GATEWAY_ENV.s3Region] || 'us-east-1',
    prefix: env[GATEWAY_ENV.s3Prefix] ?? '',
    pathStyle: readFlag(env, GATEWAY_ENV.s3PathStyle, true),
    accessKeyId: readSecret(folder, FRONT_SECRET_FILES.s3AccessKeyId, true)!,
    secretAccessKey: readSecret(folder, FRONT_SECRET_FILES.s3SecretAccessKey, true)!,
  };
}

const readSpool = (env: Variables): SpoolOptions => ({
  folder: env[GATEWAY_ENV.spoolPath] || nameSpoolFolder(),
  maxBytes: readInteger(env, GATEWAY_ENV.spoolBytes, DEFAULT_SPOOL_BYTES, MAX_SPOOL_BYTES),
});
