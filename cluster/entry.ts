/** How programs of this machine enter a cluster's network, where its names resolve. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../machine/system-package.ts';
import { tryDocker } from './docker.ts';
import { DNS_SERVICE_IP } from './layout.ts';

/** Throws with the remedy where none can. */
export async function requireNamespaces(): Promise<void> {
  const context = ['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'];
  const host = process.env.DOCKER_HOST || (findProgram('docker') ? (await tryDocker(context)).output : '');
  const isLocal = host === '' || host.startsWith('unix:');
  if (isLocal && process.platform === 'linux' && process.getuid?.() === 0) return;
  throw new Error(
    'this cluster needs Linux, root and a Docker of this machine, since programs enter its network. ' +
      'docs/kind.md ("Try it on kind") needs none of them',
  );
}

/** Writes a program that runs a command in the node's network, with the cluster's names. Returns its path. */
export function writeEntry(folder: string, node: string): string {
  const resolver = join(folder, 'resolv.conf');
  writeFileSync(resolver, `nameserver ${DNS_SERVICE_IP}\n`);
  const path = join(folder, 'enter');
  const enter = `mount --bind ${resolver} /etc/resolv.conf; exec "$@"`;
  const lines = [
    '#!/bin/sh',
    // A node that was started again is another process.
    `pid=$(docker inspect --format '{{.State.Pid}}' ${node}) || exit`,
    `exec nsenter --net=/proc/$pid/ns/net unshare --mount sh -ec '${enter}' sh "$@"`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o755 });
  return path;
}
