/** Verifies by real operations, for the operator, that a published StorageCredential works. */
import type { VerifyAnswer } from '../../../api/internal-api.ts';
import type { PublishedCredential } from '../../../api/redis-keys.ts';
import { probeStore } from '../probe.ts';
import { StorageError, type StorageReason } from '../storage-error.ts';
import type { OpenStore, Stores } from '../stores.ts';

/** Less than the operator's timeout. */
const TIMEOUT_MS = 20_000;

export async function verifyCredential(
  stores: Pick<Stores, 'openCredential'>,
  namespace: string,
  credential: PublishedCredential,
): Promise<VerifyAnswer> {
  let open: OpenStore | undefined;
  try {
    open = stores.openCredential(namespace, credential);
    await withinTime(probe(open));
    return { verified: true, reason: 'Verified', message: 'An object was written, read and deleted.' };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { verified: false, reason: toReason(error.reason), message: error.message };
  } finally {
    // Aborts what continues beyond the timeout.
    open?.store.close();
  }
}

/** Below the prefix, since the keys may have rights only there. */
const probe = ({ store, prefix }: OpenStore): Promise<void> =>
  probeStore({
    put: (key, body, contentType) => store.put(prefix + key, body, contentType),
    get: (key) => store.get(prefix + key),
    delete: (key) => store.delete(prefix + key),
  });

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
