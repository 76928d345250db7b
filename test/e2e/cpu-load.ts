/** Work for all cores of the node, which proves that it was done. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { pollUntil } from '../support/poll.ts';

export interface CPULoad {
  /** Null while it runs. */
  readonly exitCode: number | null;
  readonly workers: number;
  /** CPU time of all workers so far. */
  readSeconds(): number;
  stop(): Promise<void>;
}

/** Ticks of `/proc/PID/stat`, on every Linux that Kubernetes runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Ends by itself after `atMostSeconds`, whatever becomes of this process. Resolves once a worker for each core is at work, for
 * `percent` of its time.
 */
export async function startCPULoad(atMostSeconds: number, percent = 100): Promise<CPULoad> {
  const args = [
    '--cpu',
    '0',
    '--cpu-method',
    'loop',
    '--cpu-load',
    `${percent}`,
    '--timeout',
    `${atMostSeconds}s`,
  ];
  const child = spawn('stress-ng', args, { stdio: 'ignore' });
  await once(child, 'spawn');
  await pollUntil(() => child.exitCode !== null || readTicks(child) > 0, 'a busy core', 30_000);
  return {
    get exitCode() {
      return child.exitCode;
    },
    get workers() {
      return listWorkers(child).length;
    },
    readSeconds: () => readTicks(child) / TICKS_PER_SECOND,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

const listWorkers = ({ pid }: ChildProcess): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);

/** User and system time; the fields are counted after the name, which is in parentheses. */
const readTicks = (child: ChildProcess): number =>
  listWorkers(child)
    .map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '))
    .reduce((sum, fields) => sum + Number(fields[11]) + Number(fields[12]), 0);
