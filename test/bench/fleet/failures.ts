/** Effects of crashes of the operator and outages of Redis on replicas, and on requests that wait for one. */

import type { V1Deployment } from '@kubernetes/client-node';
import type { Wire } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import type { PodWatch } from '../../support/pod-watch.ts';
import type { ModelName } from '../operator-state.ts';
import type { Installation, Operator } from './installation.ts';
import { findLeader, pause } from './rest.ts';
import { untilPod } from './wakes.ts';

/** What a decision looks back on, and the lease that the next leader waits for. */
const WINDOW_MS = 35_000;

export interface CrashFigures {
  /** Changes of the Deployments while the load was constant, those that were taken back included. */
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
  const before = await countChanges(installation, steady);
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
  }
  operators.splice(0, operators.length, ...running);
  // What the last crash led to may show later.
  await pause(WINDOW_MS);
  return { changes: (await countChanges(installation, steady)) - before, wakesMs };
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
  const before = await countChanges(installation, steady);
  await installation.server.kill();
  const asking = setInterval(() => {
    installation.ask(asleep).then(
      (answer) => answer.text(),
      () => {},
    );
  }, 250);
  try {
    await pause(ms);
    await installation.server.restart();
    const backAt = performance.now();
    const wakeMs = (await untilPod(pods, asleep)) - backAt;
    // Its replicas depend on what Redis knows again.
    await pause(WINDOW_MS);
    return { changes: (await countChanges(installation, steady)) - before, wakeMs };
  } finally {
    clearInterval(asking);
  }
}

/** All changes that these deployments have had, of their replicas or anything else: each raises the generation. */
async function countChanges({ client }: Installation, models: readonly ModelName[]): Promise<number> {
  const all = await Promise.all(
    models.map((model) => client.get<Wire<V1Deployment>>(RESOURCES.Deployment, model)),
  );
  return all.reduce((sum, { metadata }) => sum + metadata.generation!, 0);
}
