/** Verifies by real operations, for the operator, that a published StorageCredential works. */
import type { VerifyAnswer } from '../../../api/internal-api.ts';
import type { PublishedCredential } from '../../../api/redis-keys.ts';
import { StorageError, type StorageReason } from '../storage-error.ts';
import type { Stores } from '../stores.ts';

/** Less than the operator's timeout. */
const TIMEOUT_MS = 20_000;

export async function verifyCredential(
  stores: Pick<Stores, 'openCredential'>,
  namespace: string,
  credential: PublishedCredential,
): Promise<VerifyAnswer> {
  let open: ReturnType<Stores['openCredential']> | undefined;
  try {
    open = stores.openCredential(namespace, credential);
    await withinTime(open.store.verify(open.prefix));
    return {
      verified: true,
      reason: 'Verified',
      message: 'An object was written and read through links, and deleted.',
    };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { verified: false, reason: toReason(error.reason), message: explain(error, credential) };
  } finally {
    // Aborts what continues beyond the timeout.
    open?.store.close();
  }
}

/** A bucket's host may not exist, or be another's, where its store takes buckets by path only. */
const BY_HOST_REASONS: readonly StorageReason[] = [
  'bucket',
  'address',
  'unreachable',
  'certificate',
  'refused',
  'corrupt',
];

function explain({ reason, message }: StorageError, { bucket, pathStyle }: PublishedCredential): string {
  if (reason === 'addressing') return `${message}, which is ${pathStyle}`;
  if (pathStyle || !BY_HOST_REASONS.includes(reason)) return message;
  return `${message}; with pathStyle: false it is addressed by its host name, ${bucket}.<endpoint>: if its store takes buckets by path, set pathStyle: true`;
}

async function withinTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StorageError('slow')), TIMEOUT_MS);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

/** `tooLarge` → `TooLarge`, the form of condition reasons. */
const toReason = (reason: StorageReason): string => reason[0]!.toUpperCase() + reason.slice(1);
