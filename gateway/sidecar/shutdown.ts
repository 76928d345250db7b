/** How a replica shuts down: within the grace period of its pod, or right before it is killed. */
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer } from '../../kit/http-server.ts';
import type { Activity } from '../http/activity.ts';
import type { PassOn } from '../http/errors.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { Worker } from '../jobs/worker.ts';
import type { SidecarApp } from './app.ts';
import type { Drain } from './drain.ts';

export interface WorkInFlight {
  server: Server;
  activity: Activity;
  cutOff: SidecarApp['cutOff'];
  drain: Drain;
  worker: Pick<Worker, 'stop'> | null;
  /** Its peers know that it is leaving. */
  retired: Promise<void>;
  /** Requests that come too late for this replica. */
  passOn: PassOn;
}

const MIN_CLOSE_MS = 1_000;

/** The kubelet kills 2 s after its signal, however short the grace period. */
const KILL_MS = 2_000;
const IN_FLIGHT_MS = 800;
/** kube-proxy may route here for this long. */
const LISTENING_MS = 700;
const FLUSH_MS = 200;
const ENDING = refuseAsUnavailable('replicaStopping', 'The replica is shutting down.');

/** The drain used nearly all of its time. */
export const isDrainOverdue = (drain: Drain): boolean => drain.isDraining && drain.remainingMs < KILL_MS;

/** Resolves when the server is closed and the worker has stopped. */
export async function endWork(work: WorkInFlight): Promise<void> {
  const { server, drain, worker, retired } = work;
  // The kubelet's hook still waits for the drain, or the drain used all of its time: the grace period is over.
  if (drain.isAwaited || isDrainOverdue(drain)) {
    await Promise.all([endBeforeKill(work), worker?.stop(0)]);
    return;
  }
  await Promise.all([retired, drain.settle()]);
  const withinMs = Math.max(MIN_CLOSE_MS, drain.remainingMs);
  await Promise.all([closeServer(server, withinMs), worker?.stop(withinMs)]);
}

/** Passes new requests on, gives those in flight a moment, and ends all with an error envelope before the kill. */
async function endBeforeKill({ server, activity, cutOff, passOn }: WorkInFlight): Promise<void> {
  const inFlight = [...activity.open];
  cutOff.refuse(ENDING, passOn);
  await sleep(IN_FLIGHT_MS);
  cutOff.end(inFlight, ENDING);
  await sleep(LISTENING_MS);
  cutOff.end(activity.open, ENDING);
  await closeServer(server, FLUSH_MS);
}
