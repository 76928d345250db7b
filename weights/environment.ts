/** The loader's environment (api/weights-cache.ts). */
import { WEIGHTS_ENV } from '../api/weights-cache.ts';
import { type Environment, parseEnvironment, type Variables } from '../kit/environment.ts';
import type { HubOptions } from './hub-source.ts';
import type { S3Options } from './s3-source.ts';

const DEFAULT_HUB = 'https://huggingface.co';
const MAX_LIMIT = Number.MAX_SAFE_INTEGER;

export interface LoaderEnvironment {
  cachePath: string;
  entry: string;
  limitBytes: number | undefined;
  pod: string | undefined;
  /** One of both. */
  hub: HubOptions | undefined;
  s3: S3Options | undefined;
}

/** Throws EnvironmentError. */
export const readEnvironment = (variables: Variables = process.env): LoaderEnvironment =>
  parseEnvironment(variables, (env) => {
    const { repository, s3URI } = WEIGHTS_ENV;
    const hub = env.text(repository) === undefined ? undefined : readHub(env);
    const s3 = env.text(s3URI) === undefined ? undefined : readS3(env);
    if (!hub === !s3) env.fail(`exactly one of ${repository} and ${s3URI} must be set`, '');
    return {
      cachePath: env.required(WEIGHTS_ENV.cachePath),
      entry: env.required(WEIGHTS_ENV.entry),
      limitBytes: env.integer(WEIGHTS_ENV.limitBytes, { fallback: undefined, max: MAX_LIMIT }),
      pod: env.text(WEIGHTS_ENV.podName),
      hub,
      s3,
    };
  });

const readHub = (env: Environment): HubOptions => ({
  hub: env.text(WEIGHTS_ENV.hub) ?? DEFAULT_HUB,
  repository: env.required(WEIGHTS_ENV.repository),
  revision: env.text(WEIGHTS_ENV.revision),
  token: env.text(WEIGHTS_ENV.token),
});

function readS3(env: Environment): S3Options {
  const accessKeyId = env.text(WEIGHTS_ENV.s3AccessKeyId);
  const secretAccessKey = env.text(WEIGHTS_ENV.s3SecretAccessKey);
  return {
    uri: env.required(WEIGHTS_ENV.s3URI),
    endpoint: env.text(WEIGHTS_ENV.s3Endpoint),
    region: env.text(WEIGHTS_ENV.s3Region) ?? 'us-east-1',
    pathStyle: env.flag(WEIGHTS_ENV.s3PathStyle, true),
    keys: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined,
    workloadIdentity: env.flag(WEIGHTS_ENV.s3WorkloadIdentity),
  };
}
