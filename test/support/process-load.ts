/** The cost of an attack for a process: its peak of memory, its slowest response, and how long it made others wait. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
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

/** Time for which its main thread has run so far. */
export const readBusyMs = ({ process: { pid } }: ChildProgram): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;

/** Calls `ask` repeatedly, which rejects on a wrong response. */
export function watchLoad(program: ChildProgram, ask: () => Promise<void>): ProcessLoad {
  let slowestMs = 0;
  let busiestMs = 0;
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      const begun = performance.now();
      const busy = readBusyMs(program);
      await ask();
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      busiestMs = Math.max(busiestMs, readBusyMs(program) - busy);
      await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
    }
  };
  const running = run();
  // Reported by stop().
  running.catch(() => {});
  return {
    peakMiB: () =>
      Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${program.process.pid}/status`, 'utf8'))![1]) / 1024,
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

/** More than what a program holds at rest, in MiB. */
const MAX_GROWTH_MIB = 60;
/** Limit of the program's own work, which takes five times as long where all cores are busy. */
const MAX_WAIT_MS = 2_500;

/** From now on until the returned function is called, which holds the growth of its memory and the waits of others to limits. */
export async function watchAttack(
  program: ChildProgram,
  ask: () => Promise<void>,
): Promise<(limits?: { maxGrowthMiB?: number; maxWaitMs?: number }) => Promise<void>> {
  for (let call = 0; call < 20; call++) await ask();
  const { pid } = program.process;
  // From here on, the peak is that of the attack.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  const load = watchLoad(program, ask);
  return async ({ maxGrowthMiB = MAX_GROWTH_MIB, maxWaitMs = MAX_WAIT_MS } = {}) => {
    await load.stop();
    expect(program.ended, program.output.slice(-2_000)).to.equal(null);
    const figures = `+${Math.round(load.peakMiB() - before)} MiB, ${Math.round(load.busiestMs)} ms busy of ${Math.round(load.slowestMs)}`;
    if (process.env.SHOW_FIGURES) console.log(`      ${figures}`);
    expect(load.peakMiB() - before, `MiB more (${figures})`).to.be.below(maxGrowthMiB);
    expect(load.busiestMs, `milliseconds that others waited for (${figures})`).to.be.below(maxWaitMs);
  };
}
