/** The processes of a pod's engine, found by the address that it listens on. */
import { globSync, readFileSync, readlinkSync } from 'node:fs';

/** Not the presets' default: SGLang Diffusion takes another port if any program on this machine uses that, on any address. */
export const ENGINE_PORT = 8790;

export interface ProcessEntry {
  id: number;
  /** Its command line, or its process title. */
  command: string;
  parent: number;
}

/** The engine's first process, then its descendants. */
export function listEngineProcesses(address: string): ProcessEntry[] {
  const all = listProcesses();
  const listeners = listListeners(address);
  const isRoot = ({ id, command }: ProcessEntry): boolean =>
    new RegExp(`--host[= ]${address}( |$)`).test(command) || listeners.has(id);
  const roots = all.filter(isRoot);
  const ids = new Set(roots.map(({ id }) => id));
  const [first] = roots.filter(({ parent }) => !ids.has(parent));
  if (!first) return [];
  const found = [first];
  for (const { id } of found) found.push(...all.filter(({ parent }) => parent === id));
  return found;
}

const LISTENING = '0A';

/** Processes that listen there: the titles of some do not contain the address. */
function listListeners(address: string): Set<number> {
  const port = ENGINE_PORT.toString(16).padStart(4, '0');
  const place = `${Buffer.from(address.split('.').map(Number).toReversed()).toString('hex')}:${port}`;
  const inodes = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.toLowerCase() === place && state === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`);
  const open = globSync('/proc/[0-9]*/fd/*').filter((file) => {
    try {
      return inodes.includes(readlinkSync(file));
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
  return new Set(open.map((file) => Number(file.split('/')[2])));
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
