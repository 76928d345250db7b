/** A Python environment with the packages that tests need, kept outside the checkout. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ensureProgram, findProgram } from '../../tools/system-package.ts';

/** The path of a Python interpreter that has these packages (PyPI requirements such as `openai==3.22.1`). */
export function ensurePython(packages: string[]): string {
  const key = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const folder = join(process.env.BERTH_CACHE ?? join(homedir(), '.cache', 'berth'), `python-${key}`);
  const python = join(folder, 'bin', 'python');
  const isReady = join(folder, 'ready');
  if (existsSync(isReady)) return python;
  rmSync(folder, { recursive: true, force: true });
  const system = findProgram('python3') ?? ensureProgram('python3', 'python3-venv');
  if (spawnSync(system, ['-m', 'venv', folder]).status !== 0) {
    ensureProgram('pip3', 'python3-venv');
    run(system, ['-m', 'venv', folder]);
  }
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
  run('touch', [isReady]);
  return python;
}

function run(command: string, args: string[]): void {
  const result = spawnSync(command, args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${result.stderr}`);
}
