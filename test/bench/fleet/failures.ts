/** Effects of crashes of the operator and outages of Redis on replicas, and on requests that wait for one. */

import type { PodWatch } from '../../support/pod-watch.ts';
import type { ModelName } from '../operator-state.ts';
import type { Installation, Operator } from './installation.ts';
import { findLeader, pause } from './rest.ts';
import { readAllReplicas, untilPod } from './wakes.ts';

export interface CrashFigures {
  /** Changes of replicas while the load was constant. */
  changes: number;
  /** Milliseconds from a request right after a crash to the pod object. */
  wakesMs: number[];
}

/** Kills the leading operator repeatedly; `steady` serve a constant load, one of `asleep` gets a request after each crash. */
export async function measureCrashes(
  installation: Installation,
  pods: PodWatch,
  {
    operators,
    steady,
    asleep,
  }: { operators: Operator[]; steady: readonly ModelName[]; asleep: readonly ModelName[] },
): Promise<CrashFigures> {
  const replicas = () => readAllReplicas(installation, steady);
  const before = await replicas();
  let changes = 0;
  const wakesMs: number[] = [];
  const running = [...operators];
  for (const model of asleep) {
    const leader = await findLeader(running);
    leader.program.process.removeAllListeners('exit');
    await leader.program.stop('SIGKILL');
    running.splice(running.indexOf(leader), 1, await installation.startOperator());
    const askedAt = performance.now();
    await (await installation.ask(model)).text();
    wakesMs.push((await untilPod(pods, model)) - askedAt);
    const now = await replicas();
    changes += now.filter((count, index) => count !== before[index]).length;
  }
  operators.splice(0, operators.length, ...running);
  return { changes, wakesMs };
}

export interface OutageFigures {
  changes: number;
  /** Milliseconds from the recovery of Redis to the pod object of the deployment that got requests meanwhile. */
  wakeMs: number;
}

/** Redis is unavailable for a minute while `steady` have more replicas than needed, and `asleep` gets requests repeatedly. */
export async function measureOutage(
  installation: Installation,
  pods: PodWatch,
  { steady, asleep, ms }: { steady: readonly ModelName[]; asleep: ModelName; ms: number },
): Promise<OutageFigures> {
  const replicas = () => readAllReplicas(installation, steady);
  const before = await replicas();
  await installation.server.kill();
  const asking = setInterval(() => {
    installation.ask(asleep).then(
      (answer) => answer.text(),
      () => {},
    );
  }, 250);
  try {
    await pause(ms);
    const after = await replicas();
    const changes = after.filter((count, index) => count !== before[index]).length;
    await installation.server.restart();
    const backAt = performance.now();
    const wakeMs = (await untilPod(pods, asleep)) - backAt;
    return { changes, wakeMs };
  } finally {
    clearInterval(asking);
  }
}
