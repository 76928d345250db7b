/** The AWS SDK's client, with the settings that S3-compatible stores need. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface S3Settings {
  /** URL; AWS's own for the region if absent. */
  endpoint: string | null | undefined;
  region: string;
  /** false: the bucket is part of the host name. */
  pathStyle: boolean;
  /** `anonymous` signs nothing; `environment` asks the SDK's chain of credentials. */
  keys: S3Keys | 'anonymous' | 'environment';
  maxAttempts: number;
  requestHandler?: S3ClientConfig['requestHandler'];
}

/** Sends requests as they are. Without credentials beside it the SDK would still ask its chain. */
const ANONYMOUS = {
  credentials: { accessKeyId: '', secretAccessKey: '' },
  signer: { sign: async <T>(request: T): Promise<T> => request },
};

export function createS3Client({
  endpoint,
  region,
  pathStyle,
  keys,
  maxAttempts,
  requestHandler,
}: S3Settings): S3Client {
  return new S3Client({
    region,
    forcePathStyle: pathStyle,
    maxAttempts,
    // Many stores support none of the newer checksums, and refuse any request with one. With the second alone, the SDK
    // adds the checksum of nothing to each GET.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint && { endpoint }),
    ...(requestHandler && { requestHandler }),
    ...(keys === 'anonymous' ? ANONYMOUS : keys === 'environment' ? {} : { credentials: keys }),
  });
}
