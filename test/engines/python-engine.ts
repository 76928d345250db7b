/** Engines of PyPI, in the exact versions of a file of requirements, each in an environment of its own outside the checkout. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CACHE_FOLDER } from '../../machine/cache-folder.ts';
import { ensureFolder } from '../../machine/cached-folder.ts';
import { findProgram } from '../../machine/system-package.ts';

export interface PythonEngine {
  name: string;
  /** The version that its wheels require, such as `3.11`. */
  python: string;
  /** Size of its packages and of pip's cache. */
  gigabytes: number;
  /** Distributions that the engine looks up by a name that its wheel does not have. */
  aliases?: { name: string; version: string }[];
  /** What it needs in addition on a CPU. */
  plugIn?: PlugIn;
}

/** Modules of `platforms/` that an engine finds by an entry point. */
interface PlugIn {
  modules: string[];
  /** As in `entry_points.txt`. */
  entryPoints: string;
}

const FOLDER = import.meta.dirname;
const PLATFORMS = join(FOLDER, 'platforms');
const GIGABYTE = 1e9;
/** It needs a tenth of pip's time, and links files from its cache instead of copying them. */
const UV = 'uv==0.13.8';
const DOWNLOAD_TIMEOUT_SECONDS = '180';

const requirementsOf = (name: string): string => join(FOLDER, 'requirements', `${name}.txt`);

/** Including those of files that it references. */
const readRequirements = (name: string): string =>
  readFileSync(requirementsOf(name), 'utf8').replace(/^-r (.+)\.txt$/gm, (_, other) =>
    readRequirements(other),
  );

/** Its environment. Downloads gigabytes the first time, and continues after an interruption. Errors name the remedy. */
export function ensurePythonEngine(engine: PythonEngine): string {
  const requirements = requirementsOf(engine.name);
  return ensureFolder({
    name: `engine-${engine.name}`,
    madeFrom: JSON.stringify([readRequirements(engine.name), engine, listModules(engine)]),
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
      // Nothing is resolved: the file lists every package. uv's cache keeps downloads of an interrupted installation.
      // Compiled now: if Python may not write bytecode, each start would compile thousands of files again.
      const options = ['--no-deps', '--compile-bytecode', '--python', join(folder, 'bin/python')];
      const install = ['pip', 'install', ...options, '--requirement', requirements];
      run('nice', ['-n', '15', join(folder, 'bin/uv'), ...install]);
      const packages = join(folder, `lib/python${engine.python}/site-packages`);
      for (const alias of engine.aliases ?? []) describeDistribution(packages, alias);
      if (engine.plugIn) addPlugIn(packages, engine.plugIn);
    },
  });
}

/** A folder with a model of random weights at `path`, which `models/NAME.py` writes with the environment's own libraries. */
export function ensureModel(environment: string, name: string, path = ''): string {
  const scripts = [`${name}.py`, 'parts.py'].map((file) => join(FOLDER, 'models', file));
  return ensureFolder({
    name: `tiny-${name}`,
    madeFrom: [basename(environment), path, ...scripts.map((script) => readFileSync(script, 'utf8'))].join(
      '\n',
    ),
    make: (folder) => run(join(environment, 'bin/python'), [scripts[0]!, join(folder, path)]),
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

function describeDistribution(
  packages: string,
  { name, version }: { name: string; version: string },
): string {
  const info = join(packages, `${name}-${version}.dist-info`);
  mkdirSync(info, { recursive: true });
  writeFileSync(join(info, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
  return info;
}

function addPlugIn(packages: string, { modules, entryPoints }: PlugIn): void {
  for (const module of modules) copyFileSync(join(PLATFORMS, module), join(packages, module));
  const info = describeDistribution(packages, { name: 'berth_test_platform', version: '1' });
  writeFileSync(join(info, 'entry_points.txt'), entryPoints);
}

const listModules = ({ plugIn }: PythonEngine): string[] =>
  (plugIn?.modules ?? []).map((module) => readFileSync(join(PLATFORMS, module), 'utf8'));

/** Shows its output as progress. */
function run(command: string, args: string[]): void {
  const env = {
    ...process.env,
    // On the same disk as the environments, so that files can be linked.
    UV_CACHE_DIR: join(CACHE_FOLDER, 'uv'),
    UV_HTTP_TIMEOUT: DOWNLOAD_TIMEOUT_SECONDS,
  };
  const { status, error } = spawnSync(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `exit ${status}`}`);
}
