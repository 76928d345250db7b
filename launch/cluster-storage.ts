/** The S3 server of examples/cluster/storage.yaml: as Berth's own bucket, and as a customer's. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StorageCredential } from '../api/storage-credential.ts';
import type { StorageKeys } from '../api/storage-keys.ts';
import type { Cluster } from '../cluster/layout.ts';
import { type ClusterAccess, runKubectl } from './kubectl.ts';

export const BUCKET = 'berth';
/** The endpoint for pods. */
export const INTERNAL_URL = 'http://s3.storage.svc.cluster.local';
/** The endpoint for clients. */
export const publicURL = ({ domain }: Cluster): string => `http://s3.${domain}`;

const POLL_MS = 500;

export async function readStorageKeys(cluster: ClusterAccess): Promise<StorageKeys> {
  const { data } = await readJSON<{ data: Record<string, string> }>(
    cluster,
    'secret',
    's3-keys',
    '-n',
    'storage',
  );
  const decode = (field: string) => Buffer.from(data[field]!, 'base64').toString();
  return { accessKeyId: decode('accessKeyId'), secretAccessKey: decode('secretAccessKey') };
}

/** The only private address that tenants' URLs may resolve to. */
export async function readServiceAddress(cluster: ClusterAccess): Promise<string> {
  const { spec } = await readJSON<{ spec: { clusterIP: string } }>(cluster, 'service', 's3', '-n', 'storage');
  return spec.clusterIP;
}

/** Undefined while its current state is unknown. */
export const readVerdict = ({ metadata, status }: StorageCredential) =>
  status?.observedGeneration === metadata.generation
    ? status.conditions?.find(({ type, status }) => type === 'Verified' && status !== 'Unknown')
    : undefined;

/** Resolves once each is known to work or to fail. */
export async function waitForCredentials(
  cluster: ClusterAccess,
  timeoutMs: number,
): Promise<StorageCredential[]> {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(POLL_MS)) {
    const { items } = await readJSON<{ items: StorageCredential[] }>(cluster, 'storagecredentials', '-A');
    const waiting = items.filter((credential) => readVerdict(credential) === undefined);
    if (waiting.length === 0) return items;
    if (Date.now() > deadline)
      throw new Error(`not yet verified: ${waiting.map(({ metadata }) => metadata.name).join(', ')}`);
  }
}

const readJSON = async <T>(cluster: ClusterAccess, ...what: string[]): Promise<T> =>
  JSON.parse(await runKubectl(cluster, ['get', ...what, '-o', 'json'])) as T;
