/** Pulls published images: by Docker what others are built on, by a node's containerd what its pods run. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runDocker, tryDocker } from './docker.ts';
import { readImageKey } from './image-build.ts';
import { readMirror } from './image-source.ts';
import { mirrorFolder, nodeName } from './layout.ts';
import { readAddress } from './node.ts';

/** The first part of a name, where it is a host. */
const REGISTRY = /^(?:[^/]*[.:][^/]*|localhost)\//;

/** Resolves with the name that Docker has the image under: without a digest if it is of a mirror, whose images may differ. */
export async function ensurePulled(published: string): Promise<string> {
  const mirror = readMirror();
  const name = mirror ? published.replace(/@.*/, '') : published;
  const isThere = (await tryDocker(['image', 'inspect', name])).code === 0;
  // One with a key was built here, to stand in for it.
  if (isThere && !(await readImageKey(name))) return name;
  console.error(`pulling ${name}…`);
  if (!mirror) {
    await runDocker(['pull', '--quiet', name]);
    return name;
  }
  const copy = `${mirror.host}/${name.replace(REGISTRY, '')}`;
  const isOthers = (await tryDocker(['image', 'inspect', copy])).code === 0;
  await runDocker(['pull', '--quiet', copy]);
  await runDocker(['tag', copy, name]);
  if (!isOthers) await runDocker(['rmi', copy]);
  return name;
}

/** Tells the node's containerd where to pull from: the file applies to every registry and is read at each pull. */
export async function pointToMirror(cluster: string): Promise<void> {
  const folder = join(mirrorFolder(cluster), '_default');
  rmSync(folder, { recursive: true, force: true });
  const mirror = readMirror();
  if (!mirror) return;
  // A node reaches this machine through its network's gateway.
  if (/^(localhost|127\.)/.test(mirror.hostname))
    mirror.hostname = await readAddress(nodeName(cluster), 'Gateway');
  mkdirSync(folder, { recursive: true });
  const lines = [`[host."${mirror.origin}"]`, '  capabilities = ["pull", "resolve"]'];
  writeFileSync(join(folder, 'hosts.toml'), `${lines.join('\n')}\n`);
}
