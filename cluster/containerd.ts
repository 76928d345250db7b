/** Client of the cluster's containerd: loads images, removes leftover containers. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../machine/wait-until.ts';
import { runCommand, tryCommand } from './commands.ts';

import type { SavedImage } from './images.ts';
import { type Cluster, enterCommand } from './layout.ts';

const START_TIMEOUT_MS = 30_000;

const ctr = (cluster: Cluster, args: string[]): string[] => [
  ...enterCommand(cluster.name),
  'ctr',
  '--namespace=k8s.io',
  ...args,
];

export const waitForContainerd = (cluster: Cluster): Promise<void> =>
  waitUntil(
    async () => {
      const { code } = await tryCommand(ctr(cluster, ['version']));
      return code === 0;
    },
    'containerd',
    START_TIMEOUT_MS,
  );

/** Loads an archive of `docker save`'s format into the node. */
export async function importArchive(cluster: Cluster, archive: string): Promise<void> {
  await runCommand(ctr(cluster, ['images', 'import', archive]));
}

/** Loads images into the node, unless the same are there. */
export async function importImages(cluster: Cluster, images: SavedImage[]): Promise<void> {
  const imported = readImported(cluster);
  for (const { name, archive } of images) {
    if (imported[name] === archive) continue;
    await importArchive(cluster, archive);
    imported[name] = archive;
    writeFileSync(recordPath(cluster), JSON.stringify(imported, null, 2));
  }
}

/** Removes the containers of an earlier run, which nothing else would. */
export async function removeContainers(cluster: Cluster): Promise<void> {
  const list = await tryCommand(ctr(cluster, ['containers', 'list', '--quiet']));
  const ids = list.output.split('\n').filter(Boolean);
  if (ids.length === 0) return;
  for (const id of ids) await tryCommand(ctr(cluster, ['tasks', 'kill', '--signal', 'SIGKILL', id]));
  for (const id of ids) await tryCommand(ctr(cluster, ['tasks', 'delete', '--force', id]));
  await tryCommand(ctr(cluster, ['containers', 'delete', ...ids]));
}

const recordPath = ({ stateFolder }: Cluster): string => join(stateFolder, 'containerd', 'berth-images.json');

/** The archives that the node's images came from, by image. */
export function readImported(cluster: Cluster): Record<string, string> {
  try {
    return JSON.parse(readFileSync(recordPath(cluster), 'utf8'));
  } catch {
    return {};
  }
}
