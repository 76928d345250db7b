/** Persists what users, `make key` and the console wrote into `make run`'s API server in a file. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { MemoryApi } from '../kube/memory/memory-api.ts';
import type { KubeObject } from '../kube/object.ts';

/** Everything else is recreated from these. */
const KEPT = new Set([
  'namespaces',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'controllerrevisions.apps',
  'modeldeployments.berth.dev',
  'workspaces.berth.dev',
  'apikeys.berth.dev',
  'webhookendpoints.berth.dev',
  'storagecredentials.berth.dev',
]);

const SAVE_DELAY_MS = 300;

type Entry = [key: string, object: KubeObject];

/** Restores the file's objects, and writes every later change to it; the returned function flushes. */
export function keepObjects(api: MemoryApi, path: string): () => void {
  for (const [key, object] of readEntries(path)) api.store.put(key, prepare(key, object));
  let timer: NodeJS.Timeout | undefined;
  const save = () => {
    clearTimeout(timer);
    timer = undefined;
    writeEntries(path, api);
  };
  const stopListening = api.store.listen(({ key }) => {
    if (KEPT.has(key)) timer ??= setTimeout(save, SAVE_DELAY_MS);
  });
  return () => {
    stopListening();
    save();
  };
}

function readEntries(path: string): Entry[] {
  let entries: Entry[];
  try {
    entries = JSON.parse(readFileSync(path, 'utf8')) as Entry[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  // Earlier versions named Berth's own kinds without their group.
  return entries
    .map(([key, object]): Entry => [KEPT.has(`${key}.berth.dev`) ? `${key}.berth.dev` : key, object])
    .filter(([key]) => KEPT.has(key));
}

/** None of its pods exists anymore. */
function prepare(key: string, object: KubeObject): KubeObject {
  if (key !== 'modeldeployments.berth.dev') return object;
  const { status: _, ...rest } = object;
  const managedFields = object.metadata.managedFields?.filter(({ subresource }) => subresource !== 'status');
  return {
    ...rest,
    metadata: { ...object.metadata, ...(managedFields ? { managedFields } : {}) },
  } as KubeObject;
}

function writeEntries(path: string, { store }: MemoryApi): void {
  const entries = [...store.all()]
    .filter(({ key }) => KEPT.has(key))
    .map(({ key, object }): Entry => [key, object]);
  const made = `${path}.new`;
  writeFileSync(made, JSON.stringify(entries, null, 1), { mode: 0o600 });
  renameSync(made, path);
}
