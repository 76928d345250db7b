/** A Python environment with the packages that tests need, kept outside the checkout. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { awaitProcessLock } from '../../machine/process-lock.ts';
import { ensureProgram, findProgram } from '../../machine/system-package.ts';

const INSTALL_TIMEOUT_MS = 600_000;

/**
 * The path of a Python interpreter that has these packages (PyPI requirements such as `openai==3.22.1`). Processes that
 * ask at the same time wait for one installation.
 */
export function ensurePython(packages: string[]): string {
  const key = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const folder = join(process.env.BERTH_CACHE ?? join(homedir(), '.cache', 'berth'), `python-${key}`);
  const python = join(folder, 'bin', 'python');
  const isReady = join(folder, 'ready');
  if (existsSync(isReady)) return python;
  const lock = awaitProcessLock(`${folder}.lock`, 'node');
  try {
    if (!existsSync(isReady)) install(folder, packages);
  } finally {
    lock.release();
  }
  return python;
}

/** The same for the tests of a suite: installed before them, since it may take minutes. */
export function usePython(packages: string[]): () => string {
  before(function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    ensurePython(packages);
  });
  return () => ensurePython(packages);
}

function install(folder: string, packages: string[]): void {
  rmSync(folder, { recursive: true, force: true });
  const system = findProgram('python3') ?? ensureProgram('python3', 'python3-venv');
  if (spawnSync(system, ['-m', 'venv', folder]).status !== 0) {
    ensureProgram('pip3', 'python3-venv');
    run(system, ['-m', 'venv', folder]);
  }
  const python = join(folder, 'bin', 'python');
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
  run('touch', [join(folder, 'ready')]);
}

function run(command: string, args: string[]): void {
  const result = spawnSync(command, args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${result.stderr}`);
}
