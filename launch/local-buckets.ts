/**
 * A customer's own bucket in `make run`: a real S3 server, if versitygw is installed. It is external, on a
 * loopback address of its own, which is the only private address that tenants' URLs may resolve to.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { StorageKeys } from '../api/storage-keys.ts';
import { findBinary } from '../cluster/go-modules.ts';
import { type Child, startChild } from './processes/child-process.ts';

export const OUTSIDE_ADDRESS = '127.0.0.2';

const PROGRAM = 'versitygw';
const BUCKET = 'customer';
const KEYS: StorageKeys = { accessKeyId: 'customer', secretAccessKey: 'make-run-customer-key' };

/** One bucket as a StorageCredential describes it. */
export interface CustomerBucket {
  id: number;
  name: string;
  endpoint: string;
  bucket: string;
  keys: StorageKeys;
}

/** Except on Linux, the loopback interface has only one address. */
export const canServeBuckets = (): boolean =>
  process.platform === 'linux' && findBinary(PROGRAM) !== undefined;

const bucketsURL = (port: number): string => `http://${OUTSIDE_ADDRESS}:${port}`;

/** One that works, and one with wrong keys, which is never verified. */
export const describeBuckets = (port: number): CustomerBucket[] => [
  { id: 1, name: 'customer', endpoint: bucketsURL(port), bucket: BUCKET, keys: KEYS },
  {
    id: 2,
    name: 'broken',
    endpoint: bucketsURL(port),
    bucket: BUCKET,
    keys: { ...KEYS, secretAccessKey: 'wrong' },
  },
];

const HEALTH_PATH = '/healthz';
export const readyURL = (port: number): string => `${bucketsURL(port)}${HEALTH_PATH}`;

/** Buckets and their objects are folders and files in the state folder. */
export async function startBuckets(port: number, folder: string): Promise<Child> {
  const buckets = resolve(folder, 's3', 'buckets');
  const metadata = resolve(folder, 's3', 'metadata');
  mkdirSync(join(buckets, BUCKET), { recursive: true });
  mkdirSync(metadata, { recursive: true });
  const options = ['--port', `${OUTSIDE_ADDRESS}:${port}`, '--health', HEALTH_PATH];
  return startChild({
    name: 's3',
    command: findBinary(PROGRAM)!,
    // Not every filesystem supports extended attributes.
    args: [...options, 'posix', '--sidecar', metadata, buckets],
    env: { ROOT_ACCESS_KEY_ID: KEYS.accessKeyId, ROOT_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
    logPath: join(folder, 'logs', 's3.log'),
  });
}
