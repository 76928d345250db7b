/** The engine and a system, started and ready to be measured. */
import type { ChildProcess } from 'node:child_process';
import { isServing, type Target } from './loads.ts';
import { LOAD_CORE, readCPU, SYSTEM_CORE, startPinned, stopPinned, waitForPort } from './pinned-process.ts';
import { MODEL, PORTS, type System } from './systems.ts';

const NO_LOG = '/dev/null';
const CHAT_PATH = '/v1/chat/completions';
/** Allows for the routers' first check of their engine. */
const SERVING_TIMEOUT_MS = 30_000;

/** The engine alone has no process, and its start takes no time. */
export interface StartedSystem {
  target: Target;
  pid: number | undefined;
  readyMs: number;
  stop(): Promise<void>;
}

export async function startEngine(): Promise<ChildProcess> {
  const env = { PORT: String(PORTS.engine), MODEL };
  const engine = startPinned(
    LOAD_CORE,
    { program: process.execPath, args: ['dist-bench/engine.js'], env },
    NO_LOG,
  );
  await waitForPort(PORTS.engine);
  return engine;
}

/** Resolves once the system responds to a chat; the engine must be running. */
export async function startSystem(system: System, logPath = NO_LOG): Promise<StartedSystem> {
  const command = system.buildCommand?.();
  const start = performance.now();
  const child = command && startPinned(SYSTEM_CORE, command, logPath);
  const stop = async () => {
    if (child) await stopPinned(child);
  };
  try {
    const { path = CHAT_PATH, model = MODEL } = system;
    const target = { port: await system.findPort(), path, model };
    await waitForPort(target.port);
    await waitUntilServing(target);
    return { target, pid: child?.pid, readyMs: child ? performance.now() - start : Number.NaN, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** With the microseconds of CPU that the process used meanwhile. */
export async function withCPU<T>(pid: number | undefined, work: () => Promise<T>): Promise<[T, number]> {
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
