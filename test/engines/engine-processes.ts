/** The processes of a pod's engine, found by the address that it listens on. */
import { globSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  id: number;
  /** Its command line, or what it calls itself. */
  command: string;
  parent: number;
}

/** The engine's first process, then all that came from it. */
export function listEngineProcesses(address: string): ProcessEntry[] {
  const all = listProcesses();
  const roots = all.filter(({ command }) => new RegExp(`--host[= ]${address}( |$)`).test(command));
  const ids = new Set(roots.map(({ id }) => id));
  const [first] = roots.filter(({ parent }) => !ids.has(parent));
  if (!first) return [];
  const found = [first];
  for (const { id } of found) found.push(...all.filter(({ parent }) => parent === id));
  return found;
}

const listProcesses = (): ProcessEntry[] =>
  globSync('/proc/[0-9]*').flatMap((folder) => {
    try {
      const status = readFileSync(`${folder}/status`, 'utf8');
      const command = readFileSync(`${folder}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [{ id: Number(folder.slice(6)), command, parent: Number(/^PPid:\s+(\d+)/m.exec(status)![1]) }];
    } catch {
      // Ended meanwhile.
      return [];
    }
  });
