/** Debian's packages that the bundled cluster is made of. */
import { existsSync } from 'node:fs';
import { findProgram, installPackages } from '../machine/system-package.ts';

/** A program of the package, or a path where it is no program on PATH. */
const PACKAGES: Record<string, string> = {
  containerd: 'containerd',
  runc: 'runc',
  'containernetworking-plugins': '/usr/lib/cni/bridge',
  iptables: 'iptables',
  conntrack: 'conntrack',
  ipset: 'ipset',
  ethtool: 'ethtool',
  socat: 'socat',
  iproute2: 'ip',
  buildah: 'buildah',
  debootstrap: 'debootstrap',
  openssl: 'openssl',
};

/** Installs what is missing. Throws with the remedy where that cannot be done. */
export function ensurePackages(): void {
  if (process.getuid?.() !== 0)
    throw new Error(
      'the bundled cluster needs root, for its network and containers: run this as root, or install Docker and kind',
    );
  const missing = Object.entries(PACKAGES)
    .filter(([, proof]) => (proof.startsWith('/') ? !existsSync(proof) : !findProgram(proof)))
    .map(([name]) => name);
  if (missing.length === 0) return;
  if (!findProgram('apt-get'))
    throw new Error(`missing: ${missing.join(', ')}. Install them with your system's package manager`);
  console.error(`installing ${missing.join(' ')}…`);
  installPackages(missing);
}
