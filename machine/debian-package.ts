/** Programs from Debian packages of any release, without installing them or root access. */
import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const MIRROR = 'http://deb.debian.org/debian';

export interface DebianPackage {
  /** Debian's release, such as `bookworm`. */
  release: string;
  name: string;
}

/** Unpacks the package and its dependencies, including the C library, into `folder`; throws with apt-get's output. */
export function unpackFromDebian({ release, name }: DebianPackage, folder: string): void {
  const apt = join(folder, 'apt');
  for (const path of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(apt, path), { recursive: true });
  writeFileSync(join(apt, 'sources.list'), `deb [signed-by=${KEYRING}] ${MIRROR} ${release} main\n`);
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
  const settings = Object.entries(options).flatMap(([option, value]) => ['-o', `${option}=${value}`]);
  run('apt-get', [...settings, 'update', '-q']);
  run('apt-get', [...settings, 'install', '-y', '-q', '--no-install-recommends', '--download-only', name]);
  for (const archive of globSync(join(apt, 'cache/archives/*.deb')))
    run('dpkg', ['-x', archive, join(folder, 'root')]);
  rmSync(apt, { recursive: true });
}

/**
 * A script in `folder` that execs a program with the C library that it was built for. `ownLibraries`: where a package has its own libraries,
 * below the machine's library folder.
 */
export function writeStarter(program: string, folder: string, ownLibraries: string[] = []): void {
  // Before the release in which /lib became a link, packages contained files of both.
  const [loader] = ['lib', 'usr/lib'].flatMap((place) =>
    globSync(join(folder, `root/${place}/*-linux-gnu*/ld-linux-*.so.*`)),
  );
  if (loader === undefined) throw new Error(`the packages of ${program} contain no C library`);
  const machine = basename(dirname(loader));
  const libraries = ['lib', 'usr/lib']
    .flatMap((place) => ['', ...ownLibraries].map((own) => `$here/root/${place}/${join(machine, own)}`))
    .join(':');
  const text = [
    '#!/bin/sh',
    // Relative to itself, since the folder is created under another name.
    'here=$(dirname "$0")',
    `exec "$here/${loader.slice(folder.length + 1)}" --library-path "${libraries}" \\`,
    `  "$here/root/usr/bin/${program}" "$@"`,
  ];
  const path = join(folder, program);
  writeFileSync(path, `${text.join('\n')}\n`);
  chmodSync(path, 0o755);
}

function run(command: string, args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // What apt-get gets is its progress: stdout belongs to the caller's own output.
  const { status, stderr } = spawnSync(command, args, {
    env,
    stdio: ['ignore', process.stderr.fd, 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${command} ${args.slice(-2).join(' ')} failed:\n${stderr}`);
}
