/** Finds or installs Valkey: the chart's release, for `make run`, all tests and benchmarks. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CACHE_FOLDER } from './cache-folder.ts';
import { unpackFromDebian, writeStarter } from './debian-package.ts';
import { findProgram } from './system-package.ts';

const PROGRAMS = ['valkey-server', 'valkey-cli', 'valkey-check-rdb'] as const;
export type ValkeyProgram = (typeof PROGRAMS)[number];

const CHART_VALUES = join(import.meta.dirname, '../charts/berth/values.yaml');
const DEBIAN_RELEASE = 'forky';

/** Ubuntu and others lack Debian's keys; a machine may reach no mirror. */
const REMEDY =
  "Debian's Valkey needs its keys (on Ubuntu: apt-get install debian-archive-keyring) and access to deb.debian.org; " +
  'otherwise, install valkey-server yourself, or set BERTH_REDIS_SERVER to the path of a Redis 7 or newer';

/** The image that the chart runs, such as `docker.io/valkey/valkey:9.1`. */
export function readChartImage(): string {
  const image = /^\s+image: (\S*valkey\S*)$/m.exec(readFileSync(CHART_VALUES, 'utf8'))?.[1];
  if (image === undefined) throw new Error(`${CHART_VALUES} names no image of Valkey`);
  return image;
}

const readMajor = (): string => /:(\d+)/.exec(readChartImage())![1]!;

/**
 * The path of a Valkey program of the chart's major version: from PATH, or from Debian, unpacked into the
 * cache folder with the libraries that it needs. `BERTH_REDIS_SERVER` names another server to try. Throws with the remedy.
 */
export function ensureValkey(program: ValkeyProgram = 'valkey-server'): string {
  const chosen = process.env.BERTH_REDIS_SERVER;
  if (chosen && program === 'valkey-server') return chosen;
  if (chosen)
    return join(dirname(chosen), basename(chosen).replace('server', program.slice('valkey-'.length)));
  const major = readMajor();
  const installed = findProgram('valkey-server');
  if (installed && readVersion(installed)?.startsWith(`${major}.`)) return join(dirname(installed), program);
  const folder = join(CACHE_FOLDER, `valkey-${major}`);
  const cached = join(folder, program);
  if (!existsSync(folder)) install(major, folder);
  // For a folder created by an earlier version.
  if (!existsSync(cached)) writeStarter(program, folder);
  return cached;
}

/** Such as `9.1.2`; undefined if the program does not run. */
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
        `Valkey ${major}, which the chart runs, is not available from Debian${version ? ` (it has ${version})` : ''}: set BERTH_REDIS_SERVER`,
      );
    // Another process may have been faster; its result is as good.
    if (!existsSync(folder)) renameSync(made, folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function unpack(folder: string): void {
  try {
    unpackFromDebian({ release: DEBIAN_RELEASE, name: 'valkey-server' }, folder);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${REMEDY}`);
  }
}
