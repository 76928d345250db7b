/** Prometheus and its promtool: those on PATH, or Debian's, in the cache folder; nothing is installed or started on the machine. */
import { join } from 'node:path';
import { ensureFolder } from '../../machine/cached-folder.ts';
import { unpackFromDebian, writeStarter } from '../../machine/debian-package.ts';
import { findProgram } from '../../machine/system-package.ts';

const PACKAGE = { release: 'bookworm', name: 'prometheus' };
const PROGRAMS = ['prometheus', 'promtool'] as const;
type Program = (typeof PROGRAMS)[number];

const FETCH_TIMEOUT_MS = 600_000;

/** For the tests of a suite: downloads take place before them, since they may take minutes. */
export function usePrometheus(program: Program): () => string {
  before(function () {
    this.timeout(FETCH_TIMEOUT_MS);
    ensurePrometheus(program);
  });
  return () => ensurePrometheus(program);
}

/** The program's path. */
export function ensurePrometheus(program: Program): string {
  const installed = findProgram(program);
  if (installed) return installed;
  const folder = ensureFolder({
    name: 'prometheus',
    madeFrom: JSON.stringify([PACKAGE, PROGRAMS]),
    make: (made) => {
      console.error('fetching prometheus from Debian…');
      unpackFromDebian(PACKAGE, made);
      for (const name of PROGRAMS) writeStarter(name, made);
    },
  });
  return join(folder, program);
}
