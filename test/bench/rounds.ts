/** Measures one system once: requests, streams, disconnecting clients. */
import { type Collections, measureCollections } from './collections.ts';
import { countFreed, loadAtRate, loadRequests, loadStreams } from './loads.ts';
import { readMemory, readPeakMemory, stopPinned } from './pinned-process.ts';
import { type StartedSystem, startEngine, startSystem, withCPU } from './started-system.ts';
import type { System } from './systems.ts';

const RATE = 1_000;
/** A p99 needs more requests than the other figures. */
const RATE_SECONDS = Number(process.env.RATE_SECONDS ?? 0);
/** Until V8 has optimized a request's code: it compiles until some 40,000 requests were served. */
const WARMING_SECONDS = 15;
const STREAM_WARMING_SECONDS = 5;

/** NaN: not applicable, since the engine alone has no process in front of it. */
export interface Round extends Collections {
  system: string;
  readyMs: number;
  idleMiB: number;
  peakMiB: number;
  singleP50Ms: number;
  singleP99Ms: number;
  manyP50Ms: number;
  manyP99Ms: number;
  rateP50Ms: number;
  rateP99Ms: number;
  /** For the p99 of all rounds together. */
  rate: { requests: number; slowest: number[] };
  rateCPUMicros: number;
  requestsPerSecond: number;
  cpuPerRequestMicros: number;
  cpuPerFrameMicros: number;
  /** Cost in streams with a frame every 10 ms, of which each is written by itself. */
  cpuPerPacedFrameMicros: number;
  firstFrameP50Ms: number;
  firstFrameP99Ms: number;
  gapP99Ms: number;
  freedMidStream: number;
  freedEarly: number;
  errors: number;
}

const NOT_COLLECTED: Collections = { promotedKBPerRequest: Number.NaN, markCompactsPer10000: Number.NaN };
const isNode = (system: System): boolean => system.buildCommand?.().program === process.execPath;

/** Starts the engine and the system, measures, and stops both; `seconds` bounds each load. */
export async function measureSystem(system: System, seconds: number): Promise<Round> {
  const engine = await startEngine();
  try {
    const started = await startSystem(system);
    const measured = await measure(system, started, seconds).finally(started.stop);
    return { ...measured, ...(isNode(system) ? await measureCollections(system) : NOT_COLLECTED) };
  } finally {
    await stopPinned(engine);
  }
}

async function measure(
  system: System,
  { target, pid, readyMs }: StartedSystem,
  seconds: number,
): Promise<Omit<Round, keyof Collections>> {
  const idleMiB = readMemoryOf(pid, readMemory);
  await loadRequests(target, 64, WARMING_SECONDS);
  const single = await loadRequests(target, 1, Math.min(4, seconds));
  const [many, manyCPU] = await withCPU(pid, () => loadRequests(target, 64, seconds));
  const [fixed, fixedCPU] = await withCPU(pid, () => loadAtRate(target, RATE, RATE_SECONDS || seconds));
  await loadStreams(target, 'burst', { connections: 16, seconds: STREAM_WARMING_SECONDS });
  const [burst, burstCPU] = await withCPU(pid, () =>
    loadStreams(target, 'burst', { connections: 16, seconds }),
  );
  const [paced, pacedCPU] = await withCPU(pid, () =>
    loadStreams(target, 'paced', { connections: 100, seconds }),
  );
  const freed = await countFreed(target);
  return {
    system: system.name,
    readyMs,
    idleMiB,
    peakMiB: readMemoryOf(pid, readPeakMemory),
    singleP50Ms: single.p50 / 1_000,
    singleP99Ms: single.p99 / 1_000,
    manyP50Ms: many.p50 / 1_000,
    manyP99Ms: many.p99 / 1_000,
    rateP50Ms: fixed.p50,
    rateP99Ms: fixed.p99,
    rate: fixed,
    rateCPUMicros: fixedCPU / fixed.requests,
    requestsPerSecond: many.requests / (many.microseconds / 1e6),
    cpuPerRequestMicros: manyCPU / many.requests,
    cpuPerFrameMicros: burstCPU / burst.frames,
    cpuPerPacedFrameMicros: pacedCPU / paced.frames,
    firstFrameP50Ms: paced.firstFrameP50,
    firstFrameP99Ms: paced.firstFrameP99,
    gapP99Ms: paced.gapP99,
    freedMidStream: freed.midStream,
    freedEarly: freed.early,
    errors: single.errors + many.errors + fixed.errors + burst.broken + paced.broken,
  };
}

const readMemoryOf = (pid: number | undefined, read: (pid: number) => number): number =>
  pid === undefined ? Number.NaN : read(pid);
