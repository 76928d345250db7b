/** Measures one system once: requests, streams, clients that leave. */
import { connect, type Socket } from 'node:net';
import {
  LOAD_CORE,
  readCPU,
  readMemory,
  runLoad,
  SYSTEM_CORE,
  startPinned,
  stopPinned,
  waitForPort,
} from './pinned-process.ts';
import { API_KEY, ENGINE_URL, MODEL, PORTS, type System } from './systems.ts';

const LOG = '/dev/null';
const LEAVERS = 20;

export interface Round {
  system: string;
  readyMs: number;
  idleMiB: number;
  loadedMiB: number;
  latencyP50Ms: number;
  requestsPerSecond: number;
  cpuPerRequestMicros: number;
  cpuPerFrameMicros: number;
  firstFrameP50Ms: number;
  firstFrameP99Ms: number;
  freedMidStream: number;
  freedEarly: number;
  errors: number;
}

interface RequestLoad {
  requests: number;
  microseconds: number;
  p50: number;
  errors: number;
}

interface StreamLoad {
  frames: number;
  firstFrameP50: number;
  firstFrameP99: number;
  broken: number;
}

const buildBody = (user: string, stream: boolean): string =>
  JSON.stringify({
    model: MODEL,
    user,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    messages: [{ role: 'user', content: 'hello '.repeat(150) }],
  });

/** Starts engine and system, measures, and stops both. `seconds` bounds each load. */
export async function measureSystem(system: System, seconds: number): Promise<Round> {
  const engineCommand = {
    program: process.execPath,
    args: ['dist-bench/engine.js'],
    env: { PORT: String(PORTS.engine) },
  };
  const engine = startPinned(LOAD_CORE, engineCommand, LOG);
  await waitForPort(PORTS.engine);
  const process_ = startPinned(SYSTEM_CORE, system.buildCommand(), LOG);
  try {
    const readyMs = await waitUntilServing(system.port);
    return await measure(system, process_.pid!, { seconds, readyMs });
  } finally {
    await stopPinned(process_);
    await stopPinned(engine);
  }
}

async function measure(
  system: System,
  pid: number,
  { seconds, readyMs }: { seconds: number; readyMs: number },
): Promise<Round> {
  const url = `http://127.0.0.1:${system.port}/v1/chat/completions`;
  const env = { API_KEY, ENGINE_URL, URL_: url };
  const idleMiB = readMemory(pid);
  const requests = (connections: number, duration: number) =>
    runLoad<RequestLoad>({
      program: 'wrk',
      args: [
        '-t1',
        `-c${connections}`,
        `-d${duration}s`,
        '--timeout',
        '20s',
        '-s',
        'test/bench/request.lua',
        url,
      ],
      env: { ...env, BODY: buildBody('plain', false) },
    });
  const streams = (user: string, connections: number, duration: number) =>
    runLoad<StreamLoad>({
      program: process.execPath,
      args: ['dist-bench/sse-load.js'],
      env: { ...env, BODY: buildBody(user, true), C: String(connections), SECONDS: String(duration) },
    });

  await requests(32, 3);
  const single = await requests(1, Math.min(4, seconds));
  const [many, manyCPU] = await withCPU(pid, () => requests(64, seconds));
  await streams('burst', 16, 2);
  const [burst, burstCPU] = await withCPU(pid, () => streams('burst', 16, seconds));
  const paced = await streams('paced', 100, seconds);
  const freed = await countFreed(system.port);
  return {
    system: system.name,
    readyMs,
    idleMiB,
    loadedMiB: readMemory(pid),
    latencyP50Ms: single.p50 / 1_000,
    requestsPerSecond: many.requests / (many.microseconds / 1e6),
    cpuPerRequestMicros: (manyCPU * 1e6) / many.requests,
    cpuPerFrameMicros: (burstCPU * 1e6) / burst.frames,
    firstFrameP50Ms: paced.firstFrameP50,
    firstFrameP99Ms: paced.firstFrameP99,
    freedMidStream: freed.midStream,
    freedEarly: freed.early,
    errors: single.errors + many.errors + burst.broken + paced.broken,
  };
}

async function withCPU<T>(pid: number, work: () => Promise<T>): Promise<[T, number]> {
  const before = readCPU(pid);
  const result = await work();
  return [result, readCPU(pid) - before];
}

/** Milliseconds from start until a chat is answered with 200. */
async function waitUntilServing(port: number): Promise<number> {
  const start = performance.now();
  await waitForPort(port);
  while (performance.now() - start < 20_000) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${ENGINE_URL}/v1`,
      },
      body: buildBody('plain', false),
    }).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) return performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`no answer on port ${port}`);
}

interface EngineCounters {
  aborted: number;
  abortedEarly: number;
}
const readCounters = async (): Promise<EngineCounters> =>
  (await fetch(`${ENGINE_URL}/stats`)).json() as Promise<EngineCounters>;

/** How many of 20 clients that leave free the engine: in mid-stream, and before the first byte. */
async function countFreed(port: number): Promise<{ midStream: number; early: number }> {
  const before = await readCounters();
  for (const [user, stream] of [
    ['paced', true],
    ['slow', false],
  ] as const) {
    const sockets = Array.from({ length: LEAVERS }, () => sendAndListen(port, buildBody(user, stream)));
    await new Promise((resolve) => setTimeout(resolve, 400));
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  const after = await readCounters();
  return { midStream: after.aborted - before.aborted, early: after.abortedEarly - before.abortedEarly };
}

function sendAndListen(port: number, body: string): Socket {
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\nauthorization: Bearer ${API_KEY}\r\n` +
        `x-portkey-provider: openai\r\nx-portkey-custom-host: ${ENGINE_URL}/v1\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
  socket.on('data', () => {});
  socket.on('error', () => {});
  return socket;
}
