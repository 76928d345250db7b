/** Prometheus and its promtool: those on PATH, or Debian's, in the cache folder; nothing is installed or started on the machine. */
import { join } from 'node:path';
import { unpackFromDebian } from '../../machine/debian-package.ts';
import { findProgram } from '../../machine/system-package.ts';
import { ensureFolder } from '../engines/cached-folder.ts';

const PACKAGE = { release: 'bookworm', name: 'prometheus' };

/** The program's path. */
export function ensurePrometheus(program: 'prometheus' | 'promtool'): string {
  const installed = findProgram(program);
  if (installed) return installed;
  const folder = ensureFolder({
    name: 'prometheus',
    madeFrom: JSON.stringify(PACKAGE),
    make: (made) => {
      console.error('fetching prometheus from Debian…');
      unpackFromDebian(PACKAGE, made);
    },
  });
  return join(folder, 'root/usr/bin', program);
}
