/** A Python environment with the packages that tests need, kept outside the checkout. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureProgram, findProgram } from '../../machine/system-package.ts';
import { ensureInstalled, INSTALL_TIMEOUT_MS, runInstaller } from './cached-install.ts';

/** The path of a Python interpreter that has these packages (PyPI requirements such as `openai==3.22.1`). */
export const ensurePython = (packages: string[]): string =>
  findPython(ensureInstalled('python', packages, (folder) => install(folder, packages)));

/** The same for the tests of a suite: installed before them, since it may take minutes. */
export function usePython(packages: string[]): () => string {
  before(function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    ensurePython(packages);
  });
  return () => ensurePython(packages);
}

const findPython = (folder: string): string => join(folder, 'bin', 'python');

function install(folder: string, packages: string[]): void {
  const system = findProgram('python3') ?? ensureProgram('python3', 'python3-venv');
  if (spawnSync(system, ['-m', 'venv', folder]).status !== 0) {
    ensureProgram('pip3', 'python3-venv');
    runInstaller(system, ['-m', 'venv', folder]);
  }
  const options = ['--quiet', '--disable-pip-version-check'];
  runInstaller(findPython(folder), ['-m', 'pip', 'install', ...options, ...packages]);
}
