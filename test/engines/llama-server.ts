/** llama.cpp's server: the one on PATH, or Debian's, in the cache folder with the libraries that it needs. */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unpackFromDebian, writeStarter } from '../../machine/debian-package.ts';
import { findProgram } from '../../machine/system-package.ts';
import { ensureFolder } from './cached-folder.ts';

const PROGRAM = 'llama-server';
const PACKAGE = { release: 'forky', name: 'llama.cpp-tools' };

/** As it reports itself, such as `build 11669`, since the one on PATH may be any version. */
export function readLlamaVersion(folder: string): string {
  const { stdout, stderr } = spawnSync(join(folder, PROGRAM), ['--version'], { encoding: 'utf8' });
  const [, build] = /^version: (?:\S+ \(build )?(\d+)\b/m.exec(`${stdout}${stderr}`) ?? [];
  if (!build) throw new Error(`${PROGRAM} does not tell its version:\n${stdout}${stderr}`);
  return `build ${build}`;
}

/** The folder for PATH. */
export function ensureLlamaServer(): string {
  const installed = findProgram(PROGRAM);
  if (installed) return dirname(installed);
  return ensureFolder({
    name: PROGRAM,
    madeFrom: JSON.stringify(PACKAGE),
    make: (folder) => {
      console.error(`fetching ${PROGRAM} from Debian…`);
      unpackFromDebian(PACKAGE, folder);
      const [backend] = globSync('root/usr/lib/*/ggml/backends*/libggml-cpu-x64.so', { cwd: folder });
      if (!backend)
        throw new Error(`${PACKAGE.name} of Debian ${PACKAGE.release} brought no backend for CPUs`);
      // It would look for its backend below /usr.
      writeStarter(PROGRAM, folder, { ownLibraries: ['llama'], files: { GGML_BACKEND_PATH: backend } });
    },
  });
}
