/** Engines of PyPI, in the exact versions of a file of requirements, each in an environment of its own outside the checkout. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../../tools/system-package.ts';
import { CACHE_FOLDER } from '../../tools/valkey.ts';
import { ensureFolder } from './cached-folder.ts';

export interface PythonEngine {
  name: string;
  /** As its wheels need it, such as `3.11`. */
  python: string;
  /** What its packages take, and what pip's cache takes beside them. */
  gigabytes: number;
  /** Distributions that the engine looks up by a name that its wheel does not have. */
  aliases?: { name: string; version: string }[];
}

const FOLDER = import.meta.dirname;
const GIGABYTE = 1e9;
/** It takes a tenth of pip's time, and links files from its cache instead of copying them. */
const UV = 'uv==0.13.8';
const DOWNLOAD_TIMEOUT_SECONDS = '180';

export const requirementsOf = (name: string): string => join(FOLDER, 'requirements', `${name}.txt`);

/** Its environment; the first time it downloads gigabytes, and goes on where an earlier try was stopped. Throws with the remedy. */
export function ensurePythonEngine(engine: PythonEngine): string {
  const requirements = requirementsOf(engine.name);
  return ensureFolder({
    name: `engine-${engine.name}`,
    madeFrom: readFileSync(requirements, 'utf8') + JSON.stringify(engine.aliases ?? []),
    isResumable: true,
    make: (folder) => {
      const python = findPython(engine.python);
      checkDisk(engine);
      console.error(
        `installing ${engine.name} into ${folder} (${engine.gigabytes} GB, the first time only) …`,
      );
      run(python, ['-m', 'venv', folder]);
      const pip = join(folder, 'bin/pip');
      run(pip, ['install', '--quiet', '--disable-pip-version-check', '--no-input', UV]);
      // Nothing is resolved: the file names every package. What was downloaded before an interruption is in uv's cache.
      const options = ['--no-deps', '--python', join(folder, 'bin/python'), '--requirement', requirements];
      run('nice', ['-n', '15', join(folder, 'bin/uv'), 'pip', 'install', ...options]);
      for (const alias of engine.aliases ?? []) writeAlias(folder, engine.python, alias);
    },
  });
}

/** A model of random weights that `models/NAME.py` writes. */
export function ensureModel(environment: string, name: string): string {
  const script = join(FOLDER, 'models', `${name}.py`);
  return ensureFolder({
    name: `tiny-${name}`,
    madeFrom: readFileSync(script, 'utf8'),
    make: (folder) => run(join(environment, 'bin/python'), [script, folder]),
  });
}

function findPython(version: string): string {
  const candidates = [`python${version}`, 'python3'].map(findProgram).filter((path) => path !== undefined);
  const print = ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'];
  const found = candidates.find(
    (path) => spawnSync(path, print, { encoding: 'utf8' }).stdout?.trim() === version,
  );
  if (found) return found;
  throw new Error(
    `Python ${version} is missing: the engine's packages are built for it. Install it with its venv module ` +
      `(Debian 12: apt-get install python3 python3-venv; elsewhere: pyenv install ${version}, or uv python install ${version})`,
  );
}

function checkDisk({ name, gigabytes }: PythonEngine): void {
  mkdirSync(CACHE_FOLDER, { recursive: true });
  const { bavail, bsize } = statfsSync(CACHE_FOLDER);
  const free = (bavail * bsize) / GIGABYTE;
  if (free < gigabytes)
    throw new Error(
      `${name} needs ${gigabytes} GB in ${CACHE_FOLDER}, where ${free.toFixed(1)} GB are free: ` +
        'free some, or name another folder in BERTH_CACHE',
    );
}

function writeAlias(
  folder: string,
  python: string,
  { name, version }: { name: string; version: string },
): void {
  const info = join(folder, `lib/python${python}/site-packages/${name}-${version}.dist-info`);
  mkdirSync(info, { recursive: true });
  writeFileSync(join(info, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
}

/** Its output is the progress that a person sees. */
function run(command: string, args: string[]): void {
  const env = {
    ...process.env,
    // On the disk of the environments, to link from there.
    UV_CACHE_DIR: join(CACHE_FOLDER, 'uv'),
    UV_HTTP_TIMEOUT: DOWNLOAD_TIMEOUT_SECONDS,
  };
  const { status, error } = spawnSync(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `exit ${status}`}`);
}
