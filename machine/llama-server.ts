/** llama.cpp's server: the one on PATH, or Debian's, in the cache folder with the libraries that it needs. */
import { spawnSync } from 'node:child_process';
import { globSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { type CachedFolder, ensureFolder, findFolder } from './cached-folder.ts';
import { unpackFromDebian, writeStarter } from './debian-package.ts';
import { findProgram } from './system-package.ts';

const PROGRAM = 'llama-server';
const PACKAGE = { release: 'forky', name: 'llama.cpp-tools' };
const REMEDY =
  'install llama-server yourself (brew install llama.cpp, or a build from https://github.com/ggml-org/llama.cpp/releases on PATH)';

const CACHED: CachedFolder = {
  name: PROGRAM,
  madeFrom: JSON.stringify([PACKAGE, 'all CPU backends']),
  make: (folder) => {
    console.error(`fetching ${PROGRAM} from Debian into ${folder} (about 30 s, the first time only) …`);
    unpack(folder);
    linkBackends(folder);
    writeStarter(PROGRAM, folder, ['llama']);
  },
};

/** As it reports itself, such as `build 11669`, since the one on PATH may be any version. */
export function readLlamaVersion(folder: string): string {
  const { stdout, stderr } = spawnSync(join(folder, PROGRAM), ['--version'], { encoding: 'utf8' });
  const [, build] = /^version: (?:\S+ \(build )?(\d+)\b/m.exec(`${stdout}${stderr}`) ?? [];
  if (!build) throw new Error(`${PROGRAM} does not tell its version:\n${stdout}${stderr}`);
  return `build ${build}`;
}

/** The path of one that was fetched before. */
export function findFetchedLlamaServer(): string | undefined {
  const folder = findFolder(CACHED);
  return folder && join(folder, PROGRAM);
}

/** The one on PATH, else one that was fetched before. */
export const findLlamaServer = (): string | undefined => findProgram(PROGRAM) ?? findFetchedLlamaServer();

/** The folder for PATH. Fetches the program if it is not installed; throws with the remedy. */
export function ensureLlamaServer(): string {
  const installed = findLlamaServer();
  if (installed) return dirname(installed);
  const canFetch = findProgram('apt-get') && findProgram('dpkg');
  if (!canFetch) throw new Error(`${PROGRAM} is not on PATH: ${REMEDY}`);
  return ensureFolder(CACHED);
}

function unpack(folder: string): void {
  try {
    unpackFromDebian(PACKAGE, folder);
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\n${PROGRAM} could not be fetched: Debian's needs access to deb.debian.org and Debian's keys ` +
        `(on Ubuntu: apt-get install debian-archive-keyring). Otherwise, ${REMEDY}`,
    );
  }
}

/** It searches backends beside the program, which is the loader of the starter, and takes the fastest for this CPU. */
function linkBackends(folder: string): void {
  const backends = globSync('root/usr/lib/*/ggml/backends*/libggml-cpu*.so', { cwd: folder });
  if (backends.length === 0)
    throw new Error(`${PACKAGE.name} of Debian ${PACKAGE.release} brought no backend for CPUs`);
  for (const backend of backends) {
    const place = dirname(dirname(dirname(backend)));
    symlinkSync(relative(place, backend), join(folder, place, basename(backend)));
  }
}

if (import.meta.main)
  try {
    ensureLlamaServer();
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
