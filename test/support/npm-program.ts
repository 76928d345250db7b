/** Programs of npm, whose binaries take hundreds of megabytes: no packages of the checkout. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, runInstaller } from './cached-install.ts';

/** The path of a program of a package, such as `opencode-ai@1.18.33`. */
export function ensureNpmProgram(spec: string, program: string): string {
  const folder = ensureInstalled('npm', [spec], (empty) => {
    mkdirSync(empty, { recursive: true });
    writeFileSync(join(empty, 'package.json'), '{"private":true}');
    runInstaller('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', spec], empty);
  });
  return join(folder, 'node_modules', '.bin', program);
}
