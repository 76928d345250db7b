/** Measures one system once: requests, streams, clients that leave. */
import { countFreed, isServing, loadAtRate, loadRequests, loadStreams, type Target } from './loads.ts';
import {
  LOAD_CORE,
  readCPU,
  readMemory,
  readPeakMemory,
  SYSTEM_CORE,
  startPinned,
  stopPinned,
  waitForPort,
} from './pinned-process.ts';
import { MODEL, PORTS, type System } from './systems.ts';

const LOG = '/dev/null';
const RATE = 1_000;
const CHAT_PATH = '/v1/chat/completions';
/** Of the routers' first look at their engine. */
const SERVING_TIMEOUT_MS = 30_000;

/** NaN: it has none, as the engine alone has no process in front of it. */
export interface Round {
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
  rateCPUMicros: number;
  requestsPerSecond: number;
  cpuPerRequestMicros: number;
  cpuPerFrameMicros: number;
  firstFrameP50Ms: number;
  firstFrameP99Ms: number;
  gapP99Ms: number;
  freedMidStream: number;
  freedEarly: number;
  errors: number;
}

/** A started system and its process; the engine alone has none. */
interface Started {
  target: Target;
  pid: number | undefined;
  readyMs: number;
}

/** `seconds` bounds each load. */
export const measureSystem = (system: System, seconds: number): Promise<Round> =>
  withSystem(system, (started) => measure(system, started, seconds));

/** Starts the engine and the system, and stops both. */
async function withSystem<T>(system: System, work: (started: Started) => Promise<T>): Promise<T> {
  const engineCommand = {
    program: process.execPath,
    args: ['dist-bench/engine.js'],
    env: { PORT: String(PORTS.engine) },
  };
  const engine = startPinned(LOAD_CORE, engineCommand, LOG);
  await waitForPort(PORTS.engine);
  const command = system.buildCommand?.();
  const start = performance.now();
  const process_ = command && startPinned(SYSTEM_CORE, command, LOG);
  try {
    const { path = CHAT_PATH, model = MODEL } = system;
    const target = { port: await system.findPort(), path, model };
    await waitForPort(target.port);
    await waitUntilServing(target);
    return await work({ target, pid: process_?.pid, readyMs: performance.now() - start });
  } finally {
    if (process_) await stopPinned(process_);
    await stopPinned(engine);
  }
}

async function measure(system: System, { target, pid, readyMs }: Started, seconds: number): Promise<Round> {
  const idleMiB = readMemoryOf(pid, readMemory);
  const warming = Math.max(1, Math.round(seconds / 3));
  await loadRequests(target, 32, warming);
  const single = await loadRequests(target, 1, Math.min(4, seconds));
  const [many, manyCPU] = await withCPU(pid, () => loadRequests(target, 64, seconds));
  const [fixed, fixedCPU] = await withCPU(pid, () => loadAtRate(target, RATE, seconds));
  await loadStreams(target, 'burst', { connections: 16, seconds: warming });
  const [burst, burstCPU] = await withCPU(pid, () =>
    loadStreams(target, 'burst', { connections: 16, seconds }),
  );
  const paced = await loadStreams(target, 'paced', { connections: 100, seconds });
  const freed = await countFreed(target);
  return {
    system: system.name,
    readyMs: pid === undefined ? Number.NaN : readyMs,
    idleMiB,
    peakMiB: readMemoryOf(pid, readPeakMemory),
    singleP50Ms: single.p50 / 1_000,
    singleP99Ms: single.p99 / 1_000,
    manyP50Ms: many.p50 / 1_000,
    manyP99Ms: many.p99 / 1_000,
    rateP50Ms: fixed.p50,
    rateP99Ms: fixed.p99,
    rateCPUMicros: fixedCPU / fixed.requests,
    requestsPerSecond: many.requests / (many.microseconds / 1e6),
    cpuPerRequestMicros: manyCPU / many.requests,
    cpuPerFrameMicros: burstCPU / burst.frames,
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

/** With the microseconds of CPU that the process used meanwhile. */
async function withCPU<T>(pid: number | undefined, work: () => Promise<T>): Promise<[T, number]> {
  if (pid === undefined) return [await work(), Number.NaN];
  const before = readCPU(pid);
  const result = await work();
  return [result, (readCPU(pid) - before) * 1e6];
}

async function waitUntilServing(target: Target): Promise<void> {
  const start = performance.now();
  while (!(await isServing(target))) {
    if (performance.now() - start > SERVING_TIMEOUT_MS)
      throw new Error(`no answer on port ${target.port}${target.path}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
