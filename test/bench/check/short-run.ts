/**
 * The short form of the bench. The floor and Berth run side by side, warm, and take turns at loads of a second: what disturbs the machine
 * for longer than that disturbs both.
 */
import { type Collections, measureCollections } from '../collections.ts';
import { loadRequests, loadStreams, type Target } from '../loads.ts';
import { readMemory, stopPinned } from '../pinned-process.ts';
import type { Round } from '../rounds.ts';
import { type StartedSystem, startEngine, startSystem, withCPU } from '../started-system.ts';
import { listSystems, type System } from '../systems.ts';

const LOAD_SECONDS = 1;
/** V8 goes on compiling after that, in both. */
const WARMING_SECONDS = 5;
const STREAMS = { connections: 16, seconds: LOAD_SECONDS };

export type Turn = Pick<Round, 'singleP50Ms' | 'cpuPerRequestMicros' | 'cpuPerFrameMicros' | 'errors'>;

export interface ShortRound {
  /** Latency of the engine alone. */
  directP50Ms: number;
  floor: Turn;
  berth: Turn;
}

export interface ShortRun {
  /** Memory of Berth before the first load. */
  idleMiB: number;
  /** Collections of Berth. */
  collections: Collections;
  rounds: ShortRound[];
}

/** The two systems that take turns. */
export interface Pair {
  floor: System;
  berth: System;
}

/** Takes about 30 s, and 7 s for each round. */
export async function measureShortRun(rounds: number, pair: Partial<Pair> = {}): Promise<ShortRun> {
  const compared: Pair = { floor: findSystem('floor'), berth: findSystem('berth'), ...pair };
  const engine = await startEngine();
  const started: StartedSystem[] = [];
  const start = async (system: System) => {
    const running = await startSystem(system);
    started.push(running);
    return running;
  };
  try {
    const direct = await start(findSystem('direct'));
    const [floor, berth] = [await start(compared.floor), await start(compared.berth)];
    const idleMiB = readMemory(berth.pid!);
    for (const { target } of [floor, berth]) await warm(target);
    const measured: ShortRound[] = [];
    for (let round = 0; round < rounds; round++) {
      const { p50 } = await loadRequests(direct.target, 1, LOAD_SECONDS);
      // So that neither is always second.
      const isFloorFirst = round % 2 === 0;
      const first = await takeTurn(isFloorFirst ? floor : berth);
      const second = await takeTurn(isFloorFirst ? berth : floor);
      const [floorTurn, berthTurn] = isFloorFirst ? [first, second] : [second, first];
      measured.push({ directP50Ms: p50 / 1_000, floor: floorTurn, berth: berthTurn });
    }
    await berth.stop();
    return { idleMiB, collections: await measureCollections(compared.berth), rounds: measured };
  } finally {
    await Promise.all(started.map(({ stop }) => stop()));
    await stopPinned(engine);
  }
}

export const findSystem = (name: string): System => listSystems().find((system) => system.name === name)!;

async function warm(target: Target): Promise<void> {
  await loadRequests(target, 64, WARMING_SECONDS);
  await loadStreams(target, 'burst', STREAMS);
}

async function takeTurn({ target, pid }: StartedSystem): Promise<Turn> {
  const single = await loadRequests(target, 1, LOAD_SECONDS);
  const [many, manyCPU] = await withCPU(pid, () => loadRequests(target, 64, LOAD_SECONDS));
  const [burst, burstCPU] = await withCPU(pid, () => loadStreams(target, 'burst', STREAMS));
  return {
    singleP50Ms: single.p50 / 1_000,
    cpuPerRequestMicros: manyCPU / many.requests,
    cpuPerFrameMicros: burstCPU / burst.frames,
    errors: single.errors + many.errors + burst.broken,
  };
}
