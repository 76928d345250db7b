/** The loads on each system, and their measurements. */
import { connect, type Socket } from 'node:net';
import { runLoad } from './pinned-process.ts';
import { API_KEY, ENGINE_URL } from './systems.ts';

/** Where a system listens, and its path and model for chats. */
export interface Target {
  port: number;
  path: string;
  model: string;
}

export interface RequestLoad {
  requests: number;
  microseconds: number;
  p50: number;
  p99: number;
  errors: number;
}

export interface RateLoad {
  requests: number;
  p50: number;
  p99: number;
  /** The slowest fifth, in ms. */
  slowest: number[];
  errors: number;
}

export interface StreamLoad {
  frames: number;
  firstFrameP50: number;
  firstFrameP99: number;
  gapP99: number;
  broken: number;
}

/** How the engine responds. */
type Manner = 'plain' | 'slow' | 'burst' | 'paced';

const LEAVERS = 20;

const buildBody = (model: string, manner: Manner, stream: boolean): string =>
  JSON.stringify({
    model,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    messages: [{ role: 'user', content: `bench-${manner} ${'hello '.repeat(150)}` }],
  });

const buildHeaders = (): Record<string, string> => ({
  authorization: `Bearer ${API_KEY}`,
  'content-type': 'application/json',
  'x-portkey-provider': 'openai',
  'x-portkey-custom-host': `${ENGINE_URL}/v1`,
});

const formatURL = ({ port, path }: Target): string => `http://127.0.0.1:${port}${path}`;

const buildEnvironment = (target: Target, manner: Manner, stream: boolean): Record<string, string> => ({
  API_KEY,
  ENGINE_URL,
  URL_: formatURL(target),
  BODY: buildBody(target.model, manner, stream),
});

/** As many requests as the connections can take. */
export const loadRequests = (target: Target, connections: number, seconds: number): Promise<RequestLoad> =>
  runLoad<RequestLoad>({
    program: 'wrk',
    args: [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '20s',
      '-s',
      'test/bench/request.lua',
      formatURL(target),
    ],
    env: buildEnvironment(target, 'plain', false),
  });

/** Requests at a fixed rate a second. */
export const loadAtRate = (target: Target, rate: number, seconds: number): Promise<RateLoad> =>
  runLoad<RateLoad>({
    program: process.execPath,
    args: ['dist-bench/rate-load.js'],
    env: {
      ...buildEnvironment(target, 'plain', false),
      RATE: String(rate),
      SECONDS: String(seconds),
    },
  });

/** One stream after the other on each connection: all frames at once, or one every 10 ms. */
export const loadStreams = (
  target: Target,
  manner: 'burst' | 'paced',
  { connections, seconds }: { connections: number; seconds: number },
): Promise<StreamLoad> =>
  runLoad<StreamLoad>({
    program: process.execPath,
    args: ['dist-bench/sse-load.js'],
    env: {
      ...buildEnvironment(target, manner, true),
      C: String(connections),
      SECONDS: String(seconds),
    },
  });

/** Whether a chat is answered with 200. */
export async function isServing(target: Target): Promise<boolean> {
  const response = await fetch(formatURL(target), {
    method: 'POST',
    headers: buildHeaders(),
    body: buildBody(target.model, 'plain', false),
  }).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status === 200;
}

interface EngineCounters {
  aborted: number;
  abortedEarly: number;
}
const readCounters = async (): Promise<EngineCounters> =>
  (await fetch(`${ENGINE_URL}/stats`)).json() as Promise<EngineCounters>;

/** How many of 20 disconnecting clients free the engine: in mid-stream, and before the first byte. */
export async function countFreed(target: Target): Promise<{ midStream: number; early: number }> {
  const before = await readCounters();
  for (const [manner, stream] of [
    ['paced', true],
    ['slow', false],
  ] as const) {
    const sockets = Array.from({ length: LEAVERS }, () =>
      sendAndListen(target, buildBody(target.model, manner, stream)),
    );
    await new Promise((resolve) => setTimeout(resolve, 400));
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  const after = await readCounters();
  return { midStream: after.aborted - before.aborted, early: after.abortedEarly - before.abortedEarly };
}

function sendAndListen({ port, path }: Target, body: string): Socket {
  const headers = Object.entries(buildHeaders()).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\nhost: bench\r\n${headers.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const socket = connect(port, '127.0.0.1', () => socket.write(head + body));
  socket.on('data', () => {});
  socket.on('error', () => {});
  return socket;
}
