/** Builds programs with Go where the machine has none that is suitable. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { tryProcessLock } from '../machine/process-lock.ts';
import { findProgram } from '../machine/system-package.ts';
import { runCommand } from './commands.ts';
import { describeProgram, findBinary, type GoModule, moduleFolder } from './go-modules.ts';

/**
 * The path of an executable program, built first if it is neither on PATH nor in the cache.
 * Concurrent processes wait for one build. Throws with the compiler's output if a build fails.
 */
export async function ensureBinary(program: string): Promise<string> {
  const found = findBinary(program);
  if (found) return found;
  await ensureBuilt(program);
  return findBinary(program)!;
}

/** The path of the binary that a program's module builds, whatever is on PATH. */
export async function ensureBuilt(program: string): Promise<string> {
  const { name, module, binary } = describeProgram(program);
  if (!existsSync(binary)) await build(name, module, binary);
  return binary;
}

/** The path of Go itself. Throws with the remedy. */
export function requireGo(): string {
  const go = findProgram('go');
  if (!go)
    throw new Error('go is missing: install Go 1.26 or later (https://go.dev/dl), then run this again');
  return go;
}

/** Frees the gigabytes that only further builds would use, unless another process builds: call it when all is built. */
export function clearGoCache(): void {
  const folders = [GO_CACHE, GO_MODULES].filter((folder) => existsSync(folder));
  if (folders.length === 0) return;
  // Images are built of modules' sources, too.
  const lock = tryProcessLock(IMAGE_BUILD_LOCK, 'node');
  if ('heldBy' in lock) return;
  spawnSync('flock', ['--nonblock', BUILD_LOCK, 'rm', '-rf', ...folders]);
  lock.release();
}

/** The folder of a module's sources, downloaded first: `sigs.k8s.io/kind@v0.33.0`. */
export async function downloadModule(module: string): Promise<string> {
  requireGo();
  const command = ['go', 'mod', 'download', '-json', module];
  return JSON.parse(await runCommand(command, { cwd: tmpdir(), env: GO_SETTINGS })).Dir;
}

/** The folder of a tool's own module in Go's cache; downloads it first. */
export async function findModule(program: string): Promise<string> {
  const { name, module } = describeProgram(program);
  const list = ['go', 'list', '-f', '{{.Module.Dir}}', module.package ?? '.'];
  return (await runCommand(list, { cwd: moduleFolder(name), env: GO_SETTINGS })).trim();
}

/** Copies a folder to `path` unless it is there: Go's caches are cleared. Resolves with `path`. */
export async function keepFolder(path: string, findSource: () => Promise<string>): Promise<string> {
  if (existsSync(path)) return path;
  const part = `${path}.${process.pid}`;
  cpSync(await findSource(), part, { recursive: true });
  // Another process may have been faster.
  if (existsSync(path)) rmSync(part, { recursive: true });
  else renameSync(part, path);
  return path;
}

export const IMAGE_BUILD_LOCK = join(CACHE_FOLDER, 'image-build.lock');
/** One for all modules: concurrent builds would only compete for memory and cores. */
const BUILD_LOCK = join(CACHE_FOLDER, 'bin', 'build.lock');
const GO_CACHE = join(CACHE_FOLDER, 'go-build');
const GO_MODULES = join(CACHE_FOLDER, 'go-mod');
const GO_SETTINGS = {
  CGO_ENABLED: '0',
  GOWORK: 'off',
  GOFLAGS: '-buildvcs=false -modcacherw',
  GOCACHE: GO_CACHE,
  GOMODCACHE: GO_MODULES,
};

async function build(name: string, module: GoModule, binary: string): Promise<void> {
  requireGo();
  mkdirSync(join(binary, '..'), { recursive: true });
  const variables = Object.entries(module.variables ?? {}).map(([key, value]) => `-X ${key}=${value}`);
  const compile = `go build -trimpath -tags '${(module.tags ?? []).join(',')}' -ldflags '${['-s -w', ...variables].join(' ')}' -o "$1.part" ${module.package ?? '.'}`;
  const args = [BUILD_LOCK, 'sh', '-c', `test -x "$1" || { ${compile} && mv "$1.part" "$1"; }`, 'sh', binary];
  const what = module.programs.join(', ');
  console.error(`building ${what} (about ${module.minutes} min the first time, cached afterwards)…`);
  const start = performance.now();
  const child = spawn('flock', args, {
    cwd: moduleFolder(name),
    env: { ...process.env, ...GO_SETTINGS },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const minutes = () => ((performance.now() - start) / 60_000).toFixed(1);
  const ticker = setInterval(
    () => console.error(`  still building ${name}: ${minutes()} of about ${module.minutes} min`),
    30_000,
  );
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(ticker));
  if (code !== 0) throw new Error(`building ${name} failed:\n${errors.trimEnd()}`);
  console.error(`built ${what} in ${minutes()} min`);
}
