/** A server of a test as a child process, with a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollUntil } from './poll.ts';

export interface ServerProcess {
  readonly child: ChildProcess;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

export interface ServerCommand {
  program: string;
  args: string[];
  env?: Record<string, string>;
  /** Removed when the server is stopped. */
  folder: string;
  /** Whether it serves. */
  isReady: () => Promise<boolean>;
}

const START_TIMEOUT_MS = 60_000;

export const makeFolder = (name: string): string => mkdtempSync(join(tmpdir(), `berth-${name}-`));

export async function startServer({
  program,
  args,
  env,
  folder,
  isReady,
}: ServerCommand): Promise<ServerProcess> {
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, ...env },
    cwd: folder,
    stdio: 'ignore',
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const kill = () => end(child);
  const stop = async () => {
    process.off('exit', killAtExit);
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await pollUntil(
      async () => {
        if (child.exitCode !== null) throw new Error(`${program} exited with ${child.exitCode}`);
        return isReady();
      },
      `the start of ${program}`,
      START_TIMEOUT_MS,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { child, kill, stop };
}

/** Whether anything answers HTTP at the address, whatever it answers. */
export async function answersHTTP(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => null);
  await answer?.arrayBuffer();
  return answer !== null;
}

function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}
