/** The loader's environment. */
import type { ValuesOf } from '../api/variables.ts';
import { WEIGHTS_VARIABLES } from '../api/weights-cache.ts';
import { parseEnvironment, type Variables } from '../kit/environment.ts';
import type { HubOptions } from './hub-source.ts';
import type { S3Options } from './s3-source.ts';

export interface LoaderEnvironment {
  cachePath: string;
  entry: string;
  limitBytes: number | undefined;
  pod: string | undefined;
  /** Whether a prefetch without space has failed. */
  isRequired: boolean;
  /** One of both. */
  hub: HubOptions | undefined;
  s3: S3Options | undefined;
}

type Given = ValuesOf<typeof WEIGHTS_VARIABLES>;

/** Throws EnvironmentError. */
export const readEnvironment = (variables: Variables = process.env): LoaderEnvironment =>
  parseEnvironment(variables, (env) => {
    const given = env.readAll(WEIGHTS_VARIABLES);
    const { repository, s3URI } = WEIGHTS_VARIABLES;
    if (!given.repository === !given.s3URI)
      env.fail(`exactly one of ${repository.name} and ${s3URI.name} must be set`, '');
    const { cachePath, entry, limitBytes, podName: pod, isRequired } = given;
    return { cachePath, entry, limitBytes, pod, isRequired, hub: toHub(given), s3: toS3(given) };
  });

const toHub = ({ hub, repository, revision, token }: Given): HubOptions | undefined =>
  repository ? { hub, repository, revision, token } : undefined;

const toS3 = (given: Given): S3Options | undefined =>
  given.s3URI
    ? {
        uri: given.s3URI,
        endpoint: given.s3Endpoint,
        region: given.s3Region,
        pathStyle: given.s3PathStyle,
        keys:
          given.s3AccessKeyId && given.s3SecretAccessKey
            ? { accessKeyId: given.s3AccessKeyId, secretAccessKey: given.s3SecretAccessKey }
            : undefined,
        workloadIdentity: given.s3WorkloadIdentity,
      }
    : undefined;
