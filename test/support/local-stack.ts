/** `make run` for tests: the launcher as a child process, in a state folder and on ports of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EndpointEntry, type EndpointsFile, readEndpoints } from '../../launch/endpoints-file.ts';
import { pickPort } from './child-program.ts';
import { pollUntil } from './poll.ts';

export interface LocalStack {
  endpoints: EndpointsFile;
  /** Folder of its state. */
  folder: string;
  /** Process of the launcher, which contains the operator and the API server; undefined if the tests did not start it. */
  pid: number | undefined;
  find(kind: string): EndpointEntry;
  /** Its output so far. */
  output(): string;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 110_000;

/** The folder of a running `make run` with real engines, which is tested instead. */
const RUNNING = process.env.RUNNING_STACK;
export const isSimulated = !RUNNING;
/** Looked up at each call: `it` differs between the files of a process. */
const itWhere =
  (isRun: boolean) =>
  (title: string, body: () => Promise<void>): void => {
    if (isRun) it(title, body);
    else it.skip(title, body);
  };

/** A test that needs the simulator: its controls, or responses that the test can predict. */
export const itSimulated = itWhere(isSimulated);
/** A model with random weights calls tools and keeps to a response format only if the engine forces it to; llama.cpp does not. */
export const itForced = itWhere(process.env.ENGINE !== 'llama-cpp');

/** In a folder that is removed with it, unless BERTH_STATE names one. */
export async function startLocalStack(env: Record<string, string> = {}): Promise<LocalStack> {
  if (RUNNING && !env.BERTH_STATE) return joinStack(RUNNING);
  const folder = env.BERTH_STATE ?? mkdtempSync(join(tmpdir(), 'berth-local-'));
  // All its ports are below those of outgoing connections (from 32768 on).
  const port = 100 * pickPort(100, 100);
  const child = spawn(process.execPath, ['launch/local.ts'], {
    env: { ...process.env, BERTH_STATE: folder, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const endpoints = await waitForEndpoints(child, join(folder, 'endpoints.json'), () => output);
  return {
    endpoints,
    folder,
    pid: child.pid,
    output: () => output,
    find: findKind(endpoints),
    stop: async () => {
      const exits = readExits(output);
      if (exits) console.error(exits);
      child.kill('SIGTERM');
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
      if (!env.BERTH_STATE) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function joinStack(folder: string): LocalStack {
  const endpoints = readEndpoints(join(folder, 'endpoints.json'))!;
  return {
    endpoints,
    folder,
    pid: undefined,
    output: () => '',
    find: findKind(endpoints),
    stop: async () => {},
  };
}

const findKind =
  ({ deployments }: EndpointsFile) =>
  (kind: string) =>
    deployments.find((entry) => entry.kind === kind && !entry.paused)!;

/** Parts that exited by themselves explain failures; their logs are deleted with the folder. */
export const readExits = (output: string): string =>
  [...output.matchAll(/^.+ exited; see (.+)$/gm)]
    .map(([line, logPath]) => `${line}\n${readLog(logPath!)}`)
    .join('\n');

const readLog = (path: string): string =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(-20).join('\n') : '';

async function waitForEndpoints(
  child: ChildProcess,
  path: string,
  output: () => string,
): Promise<EndpointsFile> {
  let endpoints: EndpointsFile | undefined;
  const isOver = () => {
    endpoints = readEndpoints(path);
    return endpoints !== undefined || child.exitCode !== null;
  };
  await pollUntil(isOver, 'the start of the local stack', START_TIMEOUT_MS).catch(() => {});
  if (endpoints) return endpoints;
  child.kill('SIGTERM');
  throw new Error(`the local stack did not start:\n${output()}`);
}
