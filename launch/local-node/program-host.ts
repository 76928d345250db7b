/** Runs Berth's own containers of `make run` in one process: `node program-host.ts`, controlled by IPC. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { describeError } from '../../kit/log-redaction.ts';
import type { HostedProgram } from './engine-programs.ts';

enableCompileCache();

export type Order =
  | { what: 'start'; id: string; program: HostedProgram; env: Record<string, string>; logPath: string }
  | { what: 'stop'; id: string; force: boolean };
export type Report = { what: 'ended'; id: string; code: number };

interface Running {
  stop: (force: boolean) => Promise<void>;
}

type Write = (line: string) => void;
type Start = (env: Record<string, string>, write: Write, crash: () => void) => Promise<Running>;

const SIMULATOR_GRACE_MS = 10_000;
/** A gateway waits for its requests, however it is stopped. */
const FORCE_MS = 2_000;

const PROGRAMS: Record<HostedProgram, Start> = {
  gateway: async (env, write) => {
    const [{ startSidecar }, { readSidecarEnvironment }] = await Promise.all([
      import('../../gateway/sidecar/sidecar.ts'),
      import('../../gateway/environment/environment.ts'),
    ]);
    return startSidecar({ ...readSidecarEnvironment(env), writeLog: write });
  },
  simulator: async (env, write, crash) => {
    const [{ startSimulator }, { readEnvironment }] = await Promise.all([
      import('../../simulator/server.ts'),
      import('../../simulator/environment.ts'),
    ]);
    const environment = readEnvironment(env);
    const simulator = await startSimulator({ ...environment, exit: crash });
    write(`simulator: ${environment.kind} engine of ${environment.model} listening on ${simulator.url}\n`);
    return { stop: (force) => simulator.stop(force ? 0 : SIMULATOR_GRACE_MS) };
  },
};

const running = new Map<string, Promise<Running | undefined>>();
const ended = new Set<string>();
const logs = new Map<string, WriteStream>();

process.on('message', (order: Order) => {
  if (order.what === 'start') running.set(order.id, start(order));
  else void stop(order);
});
// Its parent is gone.
process.on('disconnect', () => process.exit(0));

async function start({ id, program, env, logPath }: Order & { what: 'start' }): Promise<Running | undefined> {
  const log = createWriteStream(logPath, { flags: 'a', mode: 0o600 });
  log.on('error', () => {});
  logs.set(id, log);
  const write: Write = (line) => void (log.writable && log.write(line));
  const crash = () => {
    write(`${program}: the fault "exit" ends the process\n`);
    void running.get(id)?.then(async (instance) => {
      await instance?.stop(true);
      report(id, 1);
    });
  };
  try {
    return await PROGRAMS[program](env, write, crash);
  } catch (error) {
    const isPlain =
      error instanceof Error && (error.name === 'EnvironmentError' || 'cause' in error || 'code' in error);
    const message =
      isPlain || program === 'simulator' ? (error as Error).message : JSON.stringify(describeError(error));
    // The log must be flushed before its end is read.
    await new Promise<void>((resolve) => log.write(`${program}: ${message}\n`, () => resolve()));
    report(id, 1);
    return undefined;
  }
}

async function stop({ id, force }: Order & { what: 'stop' }): Promise<void> {
  const stopped = running.get(id)?.then((instance) => instance?.stop(force).catch(() => {}));
  await (force ? Promise.race([stopped, delay(FORCE_MS)]) : stopped);
  report(id, force ? 137 : 0);
}

function report(id: string, code: number): void {
  if (ended.has(id)) return;
  ended.add(id);
  running.delete(id);
  logs.get(id)?.end();
  logs.delete(id);
  process.send?.({ what: 'ended', id, code } satisfies Report);
}
