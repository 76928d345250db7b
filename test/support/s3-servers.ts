/** Several real S3 servers, for tests of what Berth needs of any of them. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { ensureBinary } from '../../cluster/binaries.ts';
import { createS3Client } from '../../kit/s3-client.ts';
import { ensureClassPath, ensureJava } from '../../machine/maven.ts';
import { findFreePort } from './child-program.ts';
import { startS3 } from './s3-server.ts';
import { answersHTTP, makeFolder, startServer } from './server-process.ts';

export interface AnyS3Server {
  readonly port: number;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Signs with the keys of the server's administrator. */
  readonly client: S3Client;
  createBucket(name: string): Promise<void>;
  /** Anybody may list it, and read what is put with `publicACL`. */
  createPublicBucket(name: string): Promise<void>;
  readonly publicACL: 'public-read' | undefined;
  listBuckets(): Promise<string[]>;
  listKeys(bucket: string): Promise<string[]>;
  stop(): Promise<void>;
}

type Place = Pick<AnyS3Server, 'port' | 'accessKeyId' | 'secretAccessKey' | 'stop'>;

const KEYS = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'test-secret-access-key' };
const REGION = 'us-east-1';

/** The versions are those of docs/media.md, "Which stores work". */
export const S3_SERVERS: Record<string, () => Promise<AnyS3Server>> = {
  versitygw: async () => connect(await startS3()),
  SeaweedFS: async () => connect(await startSeaweedFS()),
  'S3Proxy 4.1': async () => connect(await startS3Proxy(S3PROXY_4), 'public-read'),
  'S3Proxy 2.7': async () => connect(await startS3Proxy(S3PROXY_2), 'public-read'),
};

/** `publicACL`: of servers whose buckets have no policies. */
function connect(place: Place, publicACL?: 'public-read'): AnyS3Server {
  const { port, accessKeyId, secretAccessKey } = place;
  const endpoint = `http://127.0.0.1:${port}`;
  const keys = { accessKeyId, secretAccessKey };
  const client = createS3Client({ endpoint, region: REGION, pathStyle: true, keys, maxAttempts: 3 });
  return {
    port,
    endpoint,
    region: REGION,
    ...keys,
    client,
    createBucket: async (Bucket) => {
      await client.send(new CreateBucketCommand({ Bucket }));
    },
    createPublicBucket: async (Bucket) => {
      await client.send(new CreateBucketCommand({ Bucket, ACL: publicACL }));
      if (!publicACL) await permitAll(client, Bucket);
    },
    publicACL,
    listBuckets: async () => {
      const { Buckets = [] } = await client.send(new ListBucketsCommand({}));
      return Buckets.map(({ Name }) => Name!);
    },
    listKeys: async (Bucket) => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      return Contents.map(({ Key }) => Key!);
    },
    stop: async () => {
      client.destroy();
      await place.stop();
    },
  };
}

async function permitAll(client: S3Client, Bucket: string): Promise<void> {
  const allow = (Action: string, Resource: string) => ({ Effect: 'Allow', Principal: '*', Action, Resource });
  const Statement = [
    allow('s3:ListBucket', `arn:aws:s3:::${Bucket}`),
    allow('s3:GetObject', `arn:aws:s3:::${Bucket}/*`),
  ];
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
  await client.send(new PutBucketPolicyCommand({ Bucket, Policy }));
}

async function startSeaweedFS(): Promise<Place> {
  const program = await ensureBinary('weed');
  const folder = makeFolder('seaweedfs');
  const config = join(folder, 's3.json');
  const admin = {
    name: 'admin',
    credentials: [{ accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey }],
  };
  writeFileSync(config, JSON.stringify({ identities: [{ ...admin, actions: ['Admin'] }] }));
  const ports: Record<string, number> = {};
  for (const name of ['master', 'volume', 'filer', 's3'])
    for (const kind of ['port', 'port.grpc']) ports[`${name}.${kind}`] = await findFreePort();
  const { stop } = await startServer({
    program,
    args: [
      'server',
      `-dir=${folder}`,
      '-ip=127.0.0.1',
      '-ip.bind=127.0.0.1',
      '-filer',
      '-s3',
      `-s3.config=${config}`,
      // Otherwise a volume of 30 GB is reserved for each bucket.
      '-master.volumeSizeLimitMB=64',
      '-volume.max=100',
      ...Object.entries(ports).map(([name, port]) => `-${name}=${port}`),
    ],
    folder,
    isReady: () => answersHTTP(`http://127.0.0.1:${ports['s3.port']}`),
  });
  return { port: ports['s3.port']!, ...KEYS, stop };
}

interface S3ProxyVersion {
  program: string;
  libraries: string[];
}

const S3PROXY_4: S3ProxyVersion = {
  program: 'org.gaul:s3proxy:4.1.0',
  // Maven chooses 2.18, with which it does not start.
  libraries: ['com.fasterxml.jackson.core:jackson-annotations:2.21'],
};
const S3PROXY_2: S3ProxyVersion = { program: 'org.gaul:s3proxy:2.7.0', libraries: [] };

async function startS3Proxy({ program, libraries }: S3ProxyVersion): Promise<Place> {
  const classPath = ensureClassPath(program, libraries);
  const folder = makeFolder('s3proxy');
  const port = await findFreePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const properties = {
    's3proxy.authorization': 'aws-v2-or-v4',
    's3proxy.endpoint': endpoint,
    's3proxy.identity': KEYS.accessKeyId,
    's3proxy.credential': KEYS.secretAccessKey,
    'jclouds.provider': 'transient-nio2',
    'jclouds.identity': 'none',
    'jclouds.credential': 'none',
  };
  const settings = join(folder, 's3proxy.conf');
  const log = join(folder, 'logback.xml');
  writeFileSync(
    settings,
    Object.entries(properties)
      .map((each) => `${each.join('=')}\n`)
      .join(''),
  );
  writeFileSync(log, '<configuration><root level="OFF"/></configuration>');
  const { stop } = await startServer({
    program: ensureJava(),
    args: [
      // It starts in half the time.
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      `-Dlogback.configurationFile=${log}`,
      ...['-cp', classPath, 'org.gaul.s3proxy.Main', '--properties', settings],
    ],
    folder,
    isReady: () => answersHTTP(endpoint),
  });
  return { port, ...KEYS, stop };
}
