/** Verifies by real operations that a store works. */
import { randomUUID } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ObjectStore, OpenedObject } from './object-store.ts';
import { classifyFailure, StorageError } from './storage-error.ts';

/** Cleans up if it may delete. Throws StorageError. */
export async function probeStore(store: Pick<ObjectStore, 'put' | 'get' | 'delete'>): Promise<void> {
  const key = `berth-probe-${randomUUID()}.txt`;
  const content = Buffer.from(`Berth verifies this bucket; ${key} may be deleted.\n`);
  await store.put(key, content, 'text/plain');
  try {
    const object = await store.get(key);
    if (!object || !(await holds(object, content))) throw new StorageError('corrupt');
  } catch (error) {
    // The first failure is more useful than one of the cleanup.
    await store.delete(key).catch(() => {});
    throw error;
  }
  await store.delete(key);
}

const READ_TIMEOUT_MS = 10_000;

/** Reads no more than expected: a tenant's server may send anything. */
async function holds({ body, contentLength }: OpenedObject, content: Buffer): Promise<boolean> {
  try {
    if (contentLength !== content.length) return false;
    return content.equals(await buffer(addAbortSignal(AbortSignal.timeout(READ_TIMEOUT_MS), body)));
  } catch (error) {
    throw new StorageError(classifyFailure(error), error);
  } finally {
    body.destroy();
  }
}
