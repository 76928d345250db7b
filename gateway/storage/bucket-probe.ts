/** Verifies that a bucket works, by what results need: the same signed links, and deletion. */
import { randomUUID } from 'node:crypto';
import { type LinkAnswer, type LinkRequest, requestLink } from './link-request.ts';
import { type ObjectStore, PUT_LINK_SECONDS } from './object-store.ts';
import { classifyFailure, StorageError, type StorageReason } from './storage-error.ts';
import type { StoreAgents } from './store-agents.ts';

export interface ProbedBucket extends Pick<ObjectStore, 'signPut' | 'signGet' | 'delete'> {
  agents: StoreAgents;
  isAddressedByHost: boolean;
  /** The bucket's name as its store gives it in a list of the keys with the prefix; undefined if it gives none. */
  findName(prefix: string): Promise<string | undefined>;
}

/** `PutObject` and the like, for messages. */
type Call = 'PutObject' | 'GetObject';

const IDLE_TIMEOUT_MS = 10_000;
/** Keys may have no right to list, and stores no such call: the links decide. */
const PASSED_OVER: readonly StorageReason[] = ['denied', 'refused', 'unsupported', 'failed'];

/** Below the prefix, since the keys may have rights only there. Cleans up if it may delete. Throws StorageError. */
export async function probeBucket(bucket: ProbedBucket, prefix: string): Promise<void> {
  const key = `${prefix}berth-probe-${randomUUID()}.txt`;
  const content = Buffer.from(`Berth verifies this bucket; ${key} may be deleted.\n`);
  // First of all: some stores create a missing bucket, and a wrong address may name another one.
  await requireBucket(bucket, key);
  try {
    await put(bucket, key, content);
    await requireContent(bucket, key, content);
  } catch (error) {
    // The first failure is more useful than one of the cleanup.
    await bucket.delete(key).catch(() => {});
    throw error;
  }
  await bucket.delete(key);
}

/** A store that takes no buckets by host lists all its buckets instead, without a name. */
async function requireBucket(bucket: ProbedBucket, key: string): Promise<void> {
  let name: string | undefined;
  try {
    name = await bucket.findName(key);
  } catch (error) {
    if (error instanceof StorageError && PASSED_OVER.includes(error.reason)) return;
    throw error;
  }
  if (bucket.isAddressedByHost && name === undefined) throw new StorageError('addressing');
}

async function put(bucket: ProbedBucket, key: string, content: Buffer): Promise<void> {
  const size = { contentType: 'text/plain', contentLength: content.length };
  const { url, headers } = await bucket.signPut({ key, ...size, expiresInSeconds: PUT_LINK_SECONDS });
  await ask(bucket, 'PutObject', { method: 'PUT', url, headers, send: (request) => request.end(content) });
}

async function requireContent(bucket: ProbedBucket, key: string, content: Buffer): Promise<void> {
  const url = await bucket.signGet({ key, expiresInSeconds: PUT_LINK_SECONDS });
  const { body } = await ask(bucket, 'GetObject', {
    method: 'GET',
    url,
    headers: {},
    send: (request) => request.end(),
  });
  if (!content.equals(body)) throw new StorageError('corrupt');
}

async function ask(
  { agents }: ProbedBucket,
  call: Call,
  request: Pick<LinkRequest, 'method' | 'url' | 'headers' | 'send'>,
): Promise<LinkAnswer> {
  const limits = { agents, idleMs: IDLE_TIMEOUT_MS, signal: AbortSignal.timeout(IDLE_TIMEOUT_MS) };
  const answer = await requestLink({ ...request, ...limits }).catch((error) => {
    throw new StorageError(classifyFailure(error), error);
  });
  // Also where this store takes the link: later ones would end early, or too late.
  if (answer.isSkewed) throw new StorageError('clock');
  if (answer.reason === 'unsupported') throw new StorageError('unsupported', undefined, call);
  if (answer.status === 404 && call === 'GetObject') throw new StorageError('corrupt');
  if (answer.reason !== null) throw new StorageError(answer.reason);
  return answer;
}
