/** The cost of an attack for a process: its peak of memory, its slowest response, and how long it made others wait. */
import { readFileSync } from 'node:fs';
import type { ChildProgram } from './child-program.ts';

export interface ProcessLoad {
  /** Resident, since the process began. */
  peakMiB(): number;
  /** The slowest `ask` so far. */
  readonly slowestMs: number;
  /** The longest that its event loop worked for others during an `ask`: unlike time, the same on a busy machine. */
  readonly busiestMs: number;
  stop(): Promise<void>;
}

const ASK_INTERVAL_MS = 50;

/** Calls `ask` repeatedly, which rejects on a wrong response. */
export function watchLoad({ process }: ChildProgram, ask: () => Promise<void>): ProcessLoad {
  let slowestMs = 0;
  let busiestMs = 0;
  const readBusyMs = () =>
    Number(readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      const begun = performance.now();
      const busy = readBusyMs();
      await ask();
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      busiestMs = Math.max(busiestMs, readBusyMs() - busy);
      await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
    }
  };
  const running = run();
  // Reported by stop().
  running.catch(() => {});
  return {
    peakMiB: () =>
      Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${process.pid}/status`, 'utf8'))![1]) / 1024,
    get slowestMs() {
      return slowestMs;
    },
    get busiestMs() {
      return busiestMs;
    },
    stop: () => {
      isStopped = true;
      return running;
    },
  };
}
