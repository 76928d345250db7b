/** Adds and removes finalizers without affecting concurrent writers. */
import { isNotFound } from './api-error.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject } from './object.ts';
import type { Resource } from './resource.ts';

type Patcher = Pick<KubeClient, 'mergePatch'>;

export interface FinalizerCall {
  resource: Resource;
  object: KubeObject;
  finalizer: string;
  signal?: AbortSignal;
}

const hasFinalizer = (object: KubeObject, finalizer: string) =>
  object.metadata.finalizers?.includes(finalizer) ?? false;

/** Adds it and returns true, or false if present; a concurrent change of the object is a conflict. */
export async function addFinalizer(client: Patcher, call: FinalizerCall): Promise<boolean> {
  const { object, finalizer } = call;
  if (hasFinalizer(object, finalizer)) return false;
  await writeFinalizers(client, call, [...(object.metadata.finalizers ?? []), finalizer]);
  return true;
}

/** Removes it and returns true, or false if it, or the object, is already gone. */
export async function removeFinalizer(client: Patcher, call: FinalizerCall): Promise<boolean> {
  const { object, finalizer } = call;
  if (!hasFinalizer(object, finalizer)) return false;
  const rest = object.metadata.finalizers!.filter((name) => name !== finalizer);
  try {
    await writeFinalizers(client, call, rest);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** The whole list, since a merge patch replaces it; the resource version keeps others' additions safe. */
async function writeFinalizers(
  client: Patcher,
  { resource, object, signal }: FinalizerCall,
  finalizers: string[],
): Promise<void> {
  const { name, namespace, resourceVersion, uid } = object.metadata;
  await client.mergePatch(resource, {
    at: { name, namespace },
    patch: { metadata: { uid, resourceVersion, finalizers } },
    signal,
  });
}
