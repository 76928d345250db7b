/** Prepares a bench: checks for programs, and compiles what is measured as for the image. */
import { execFileSync } from 'node:child_process';
import { bundleProgram } from '../../bundle-program.ts';
import { ensureProgram } from '../../machine/system-package.ts';

export function ensureBenchPrograms(): void {
  for (const [program, debianPackage] of [
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
    ['setpriv', 'util-linux'],
    ['curl', 'curl'],
  ])
    ensureProgram(program!, debianPackage!);
}

/** Compiled, since stripping types would delay the start compared with the image. */
export function compileBench(): void {
  execFileSync('node', ['build.ts'], { stdio: 'inherit' });
  compileScripts();
}

/** Only the gateway and the scripts, in a quarter of the time. */
export async function compileGatewayBench(): Promise<void> {
  await bundleProgram('gateway', 'dist/gateway');
  compileScripts();
}

function compileScripts(): void {
  const scripts = ['engine', 'floor', 'rate-load', 'sse-load'].map((name) => `test/bench/${name}.ts`);
  const options = [
    '--outDir',
    'dist-bench',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--skipLibCheck',
    '--ignoreConfig',
  ];
  execFileSync('tsc', [...scripts, ...options, '--types', 'node', '--rewriteRelativeImportExtensions'], {
    stdio: 'inherit',
  });
}
