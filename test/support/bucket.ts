/** The contents of a bucket, with its owner's rights. */
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { EndpointsFile } from '../../launch/endpoints-file.ts';

type Server = NonNullable<EndpointsFile['s3']>;

const connect = ({ endpoint, accessKeyId, secretAccessKey }: Server): S3Client =>
  new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });

/** Keys of all objects below `prefix`. */
export async function listObjects(server: Server, bucket = server.bucket, prefix = ''): Promise<string[]> {
  const client = connect(server);
  const keys: string[] = [];
  let token: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token }),
    );
    for (const { Key } of page.Contents ?? []) keys.push(Key!);
    token = page.NextContinuationToken;
  } while (token);
  return keys;
}

/** A link like those that a gateway signs, valid for `expiresIn` seconds. */
export const signLink = (server: Server, key: string, expiresIn: number): Promise<string> =>
  getSignedUrl(connect(server), new GetObjectCommand({ Bucket: server.bucket, Key: key }), { expiresIn });
