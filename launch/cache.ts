/** `make cache` tells the disk that caches take; `make cache-clear` removes them, and stops the clusters that stand on them. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stopCluster } from '../cluster/cluster.ts';
import { runCommand } from '../cluster/commands.ts';
import { releaseDocker, tryDocker } from '../cluster/docker.ts';
import { isDaemonRunning } from '../cluster/docker-daemon.ts';
import { listBuiltImages } from '../cluster/image-build.ts';
import { isOwnName } from '../cluster/images.ts';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';

const WHAT: Record<string, string> = {
  bin: 'programs that Go built',
  'go-build': "Go's cache of their builds",
  'go-mod': 'their sources',
  docker: 'Docker, where it is started for the cluster: nodes and images',
  cluster: 'state and images of clusters',
  models: 'models that make run MODEL=… downloaded',
  runs: 'a list of the folders in which something runs',
  'gateway-bundles': 'the gateway, bundled for tests',
};
const OTHERS = 'packages of npm, PyPI, Debian and Maven for tests';

async function show(): Promise<void> {
  const folders = existsSync(CACHE_FOLDER) ? readdirSync(CACHE_FOLDER) : [];
  const sizes = new Map<string, number>();
  for (const folder of folders) {
    const [kilobytes] = (await runCommand(['du', '-sk', join(CACHE_FOLDER, folder)])).split('\t');
    const what = WHAT[folder] ?? OTHERS;
    sizes.set(what, (sizes.get(what) ?? 0) + Number(kilobytes));
  }
  const format = (kilobytes: number) => `${(kilobytes / 1024 ** 2).toFixed(1).padStart(6)} GiB`;
  for (const [what, kilobytes] of [...sizes].sort(([, a], [, b]) => b - a))
    console.log(`${format(kilobytes)}  ${what}`);
  const total = [...sizes.values()].reduce((sum, kilobytes) => sum + kilobytes, 0);
  console.log(`${format(total)}  in all, in ${CACHE_FOLDER}: make cache-clear removes it`);
  const images = (await listBuiltImages().catch(() => [])).filter(isOwnName);
  if (images.length > 0)
    console.log(`\nDocker has ${images.length} images that were built here; they go, too.`);
}

async function clear(): Promise<void> {
  const images = (await listBuiltImages().catch(() => [])).filter(isOwnName);
  const folder = join(CACHE_FOLDER, 'cluster');
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (existsSync(join(folder, name, 'containerd'))) await stopCluster(name);
  // Without --force: what a container uses stays.
  if (images.length > 0) await tryDocker(['rmi', ...images]);
  await releaseDocker();
  if (isDaemonRunning())
    throw new Error(
      'the Docker that was started here still has containers (docker ps), or another process needs it',
    );
  rmSync(CACHE_FOLDER, { recursive: true, force: true });
  console.log(`removed ${CACHE_FOLDER}`);
}

const command = { show, clear }[process.argv[2] ?? ''];
if (!command) {
  console.error('usage: cache.ts show|clear');
  process.exit(2);
}
command().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
