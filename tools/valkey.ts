/** Where Valkey is: the release that the chart runs, for `make run`, all tests and the benches. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { findProgram } from './system-package.ts';

const PROGRAMS = ['valkey-server', 'valkey-cli', 'valkey-check-rdb'] as const;
export type ValkeyProgram = (typeof PROGRAMS)[number];

const CACHE_FOLDER = process.env.BERTH_CACHE ?? join(homedir(), '.cache', 'berth');
const CHART_VALUES = join(import.meta.dirname, '../charts/berth/values.yaml');
const DEBIAN_SOURCE =
  'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian forky main\n';

/** Ubuntu and others do not come with Debian's keys; a machine may reach no mirror. */
const REMEDY =
  "Debian's Valkey needs its keys (on Ubuntu: apt-get install debian-archive-keyring) and a way to deb.debian.org; " +
  'without, install valkey-server yourself, or set BERTH_REDIS_SERVER to the path of a Redis 7 or newer';

/** The image that the chart runs, such as `docker.io/valkey/valkey:9.1`. */
export function readChartImage(): string {
  const image = /^\s+image: (\S*valkey\S*)$/m.exec(readFileSync(CHART_VALUES, 'utf8'))?.[1];
  if (image === undefined) throw new Error(`${CHART_VALUES} names no image of Valkey`);
  return image;
}

const readMajor = (): string => /:(\d+)/.exec(readChartImage())![1]!;

/**
 * The path of a program of Valkey, of the chart's major version: the one on PATH, or Debian's, which is put into the
 * cache folder with the libraries that it needs. `BERTH_REDIS_SERVER` names another server to try. Throws with the remedy.
 */
export function ensureValkey(program: ValkeyProgram = 'valkey-server'): string {
  const chosen = process.env.BERTH_REDIS_SERVER;
  if (chosen)
    return program === 'valkey-server' ? chosen : join(dirname(chosen), program.replace('valkey', 'redis'));
  const major = readMajor();
  const installed = findProgram('valkey-server');
  if (installed && readVersion(installed)?.startsWith(`${major}.`)) return join(dirname(installed), program);
  const folder = join(CACHE_FOLDER, `valkey-${major}`);
  const cached = join(folder, program);
  if (!existsSync(folder)) install(major, folder);
  // Of a folder that an earlier version made.
  if (!existsSync(cached)) writeStarter(program, folder);
  return cached;
}

/** Such as `9.1.2`; undefined where the program does not run. */
export function readVersion(program: string): string | undefined {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /\bv=(\d+\.\d+\.\d+)|valkey-cli (\d+\.\d+\.\d+)/
    .exec(stdout ?? '')
    ?.slice(1)
    .find(Boolean);
}

function install(major: string, folder: string): void {
  if (!findProgram('apt-get') || !findProgram('dpkg'))
    throw new Error(
      `valkey-server ${major} is missing: install it (such as: brew install valkey), or set BERTH_REDIS_SERVER to the path of a Redis 7 or newer`,
    );
  console.error(`fetching Valkey ${major} from Debian…`);
  mkdirSync(dirname(folder), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  try {
    unpack(made);
    for (const program of PROGRAMS) writeStarter(program, made);
    const version = readVersion(join(made, 'valkey-server'));
    if (!version?.startsWith(`${major}.`))
      throw new Error(
        `Debian has Valkey ${version ?? 'no more'}, the chart runs ${major}: set BERTH_REDIS_SERVER`,
      );
    // Another process may have been faster; what it made is as good.
    if (!existsSync(folder)) renameSync(made, folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Valkey and all that it needs, its C library included, beside this machine's packages and without its rights. */
function unpack(folder: string): void {
  const apt = join(folder, 'apt');
  for (const path of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(apt, path), { recursive: true });
  writeFileSync(join(apt, 'sources.list'), DEBIAN_SOURCE);
  writeFileSync(join(apt, 'state/status'), '');
  const options = {
    'Dir::State': join(apt, 'state'),
    'Dir::State::status': join(apt, 'state/status'),
    'Dir::Cache': join(apt, 'cache'),
    'Dir::Etc::sourcelist': join(apt, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Acquire::Check-Valid-Until': 'false',
    'Acquire::Retries': '3',
    'APT::Sandbox::User': 'root',
  };
  const settings = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  run('apt-get', [...settings, 'update', '-q']);
  run('apt-get', [
    ...settings,
    'install',
    '-y',
    '-q',
    '--no-install-recommends',
    '--download-only',
    'valkey-server',
  ]);
  for (const archive of globSync(join(apt, 'cache/archives/*.deb')))
    run('dpkg', ['-x', archive, join(folder, 'root')]);
  rmSync(apt, { recursive: true });
}

/** A script that starts the program with the C library that it was built for; its process id stays. */
function writeStarter(program: ValkeyProgram, made: string): void {
  const [loader] = globSync(join(made, 'root/usr/lib/*-linux-gnu*/ld-linux-*.so.*'));
  if (loader === undefined) throw new Error('the packages of Valkey brought no C library');
  const text = [
    '#!/bin/sh',
    // Found beside itself, since the folder is made under another name.
    'here=$(dirname "$0")',
    `exec "$here/${loader.slice(made.length + 1)}" --library-path "$here/${dirname(loader).slice(made.length + 1)}" \\`,
    `  --argv0 ${program} "$here/root/usr/bin/${program}" "$@"`,
  ];
  const path = join(made, program);
  writeFileSync(path, `${text.join('\n')}\n`);
  chmodSync(path, 0o755);
}

function run(command: string, args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr } = spawnSync(command, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.slice(-2).join(' ')} failed:\n${stderr}\n${REMEDY}`);
}
