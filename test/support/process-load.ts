/** The cost of an attack for a process: its peak of memory, and its slowest response. */
import { readFileSync } from 'node:fs';
import type { ChildProgram } from './child-program.ts';

export interface ProcessLoad {
  /** Resident, since the process began. */
  peakMiB(): number;
  /** The slowest `ask` so far. */
  readonly slowestMs: number;
  stop(): Promise<void>;
}

const ASK_INTERVAL_MS = 50;

/** Calls `ask` repeatedly, which rejects on a wrong response. */
export function watchLoad({ process }: ChildProgram, ask: () => Promise<void>): ProcessLoad {
  let slowestMs = 0;
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      const begun = performance.now();
      await ask();
      slowestMs = Math.max(slowestMs, performance.now() - begun);
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
    stop: () => {
      isStopped = true;
      return running;
    },
  };
}
