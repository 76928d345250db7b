/** Installs a command's Debian packages, or reports how to install them. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program on PATH (or in /usr/sbin), or undefined. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return findOnPath(name, folders.join(delimiter));
}

/** The file that a shell would run; undefined if there is none. */
export function findOnPath(name: string, path: string): string | undefined {
  const candidates = name.includes('/')
    ? [name]
    : path.split(delimiter).map((folder) => join(folder || '.', name));
  return candidates.find(isProgram);
}

/** Ensures that a program is installed, from its Debian package if possible. Throws with the remedy. */
export function ensureProgram(name: string, debianPackage: string): string {
  const found = findProgram(name);
  if (found) return found;
  const canInstall = process.getuid?.() === 0 && findProgram('apt-get') !== undefined;
  if (!canInstall)
    throw new Error(`${name} is missing: install it (Debian: sudo apt-get install ${debianPackage})`);
  console.error(`installing ${debianPackage}…`);
  installPackages([debianPackage]);
  const installed = findProgram(name);
  if (!installed) throw new Error(`package ${debianPackage} does not contain ${name}`);
  return installed;
}

/** Waits for another process's installation. */
const LOCK_TIMEOUT_SECONDS = 600;

/** Installs Debian packages, as root. Throws with apt-get's output. */
export function installPackages(packages: string[]): void {
  const install = () =>
    spawnSync(
      'apt-get',
      [
        'install',
        '-y',
        '-q',
        '--no-install-recommends',
        '-o',
        `DPkg::Lock::Timeout=${LOCK_TIMEOUT_SECONDS}`,
        ...packages,
      ],
      { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, encoding: 'utf8' },
    );
  let result = install();
  if (result.status !== 0) {
    // A new machine's package lists are empty or old.
    spawnSync('apt-get', ['update', '-q'], { encoding: 'utf8' });
    result = install();
  }
  if (result.status !== 0) throw new Error(`apt-get install ${packages.join(' ')} failed:\n${result.stderr}`);
}

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};
