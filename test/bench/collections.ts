/** What V8's garbage collector does for each request: what outlives a collection of the young, and full collections. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './folders.ts';
import { loadRequests } from './loads.ts';
import { startSystem } from './started-system.ts';
import type { System } from './systems.ts';

const CONNECTIONS = 64;
/** Until code is optimized and lists have their size. */
const WARMING_SECONDS = 4;
const SECONDS = 3;

export interface Collections {
  /** Promoted: it stays until a full collection. The floor's are what the HTTP libraries leave behind. */
  promotedKBPerRequest: number;
  markCompactsPer10000: number;
}

/** Starts a Node program of its own for it, since its log goes where the collector writes; the engine must be running. */
export async function measureCollections(system: System): Promise<Collections> {
  const logPath = join(makeFolder(), 'log');
  const { target, stop } = await startSystem(traced(system), logPath);
  try {
    await loadRequests(target, CONNECTIONS, WARMING_SECONDS);
    const start = readFileSync(logPath).length;
    const { requests } = await loadRequests(target, CONNECTIONS, SECONDS);
    const { promotedMB, markCompacts } = readCollections(readFileSync(logPath).subarray(start).toString());
    return {
      promotedKBPerRequest: (promotedMB * 1024) / requests,
      markCompactsPer10000: (markCompacts * 10_000) / requests,
    };
  } finally {
    await stop();
  }
}

function traced(system: System): System {
  const { program, args, env = {} } = system.buildCommand!();
  return { ...system, buildCommand: () => ({ program, args: ['--trace-gc', ...args], env }) };
}

const LINE = /ms: (Scavenge|Mark-Compact).*? [\d.]+ \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB/g;

/** Reads what `--trace-gc` wrote: how much a scavenge left more than the collection before it, in sum. */
export function readCollections(log: string): { promotedMB: number; markCompacts: number } {
  const seen = { promotedMB: 0, markCompacts: 0 };
  let before: number | null = null;
  for (const [, kind, size] of log.matchAll(LINE)) {
    const after = Number(size);
    if (kind === 'Mark-Compact') seen.markCompacts++;
    else if (before !== null) seen.promotedMB += after - before;
    before = after;
  }
  return seen;
}
