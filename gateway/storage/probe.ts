/** Tells by real operations whether a store can be used. */
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { ObjectStore } from './object-store.ts';
import { StorageError } from './storage-error.ts';

/** Leaves nothing behind that it may delete. Throws StorageError. */
export async function probeStore(store: Pick<ObjectStore, 'put' | 'get' | 'delete'>): Promise<void> {
  const key = `berth-probe-${randomUUID()}.txt`;
  const content = Buffer.from(`Berth verifies this bucket; ${key} may be deleted.\n`);
  await store.put(key, content, 'text/plain');
  try {
    const object = await store.get(key);
    if (!object || !content.equals(await buffer(object.body))) throw new StorageError('corrupt');
  } catch (error) {
    // The first failure tells more than one of the clean-up.
    await store.delete(key).catch(() => {});
    throw error;
  }
  await store.delete(key);
}
