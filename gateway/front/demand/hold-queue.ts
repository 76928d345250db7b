/** The queue of one deployment: waiters, turns, and limits per caller. */
import type { DeploymentName } from '../../../api/names.ts';

export interface HoldLimits {
  /** For all deployments together; a workspace may have twice as many as are still free. */
  total: number;
  perDeployment: number;
  /** Limit of bodies that are read, and of socket buffers for others. */
  bytesPerDeployment: number;
}

/** Why a wait ended without a replica. */
export type HoldEnd = 'expired' | 'gone' | 'closing' | 'left';

/** A request's turn at these replicas; `leave` once it is over, `isRefused` if they had no slot after all. */
export interface Turn {
  addresses: readonly string[];
  leave(outcome?: { isRefused?: boolean }): void;
}

export interface Waiter {
  order: number;
  give(result: Turn | HoldEnd): void;
}

/** Totals of a queue, or of one caller in it. */
interface Load {
  holds: number;
  bytes: number;
}

export interface HoldQueue extends DeploymentName, Load {
  /** Requests that wait, or have their turn and may have to wait again. */
  holds: number;
  /** By caller. */
  loads: Map<string, Load>;
  waiting: Set<Waiter>;
  /** Requests that have their turn. */
  running: number;
  /** By the clock: replicas that refused are skipped until then. */
  pausedUntil: number;
  isServing: boolean;
  mustServeAgain: boolean;
}

export interface HeldRequest {
  /** The unit of fairness: its API key. */
  caller: string;
  bytes: number;
  timeoutMs: number;
}

/** Share of a queue's places and bytes that one caller may have; a single request always fits. */
const CALLER_SHARE = 0.5;

export const createQueue = (deployment: DeploymentName): HoldQueue => ({
  ...deployment,
  holds: 0,
  bytes: 0,
  loads: new Map(),
  waiting: new Set(),
  running: 0,
  pausedUntil: 0,
  isServing: false,
  mustServeAgain: false,
});

/** Whether the queue, or its caller's share, is full for one more request. */
export function isFull(
  queue: HoldQueue,
  { caller, bytes }: HeldRequest,
  { perDeployment, bytesPerDeployment }: HoldLimits,
): boolean {
  if (queue.holds >= perDeployment || queue.bytes + bytes > bytesPerDeployment) return true;
  const own = queue.loads.get(caller);
  if (!own) return false;
  return (
    own.holds + 1 > perDeployment * CALLER_SHARE || own.bytes + bytes > bytesPerDeployment * CALLER_SHARE
  );
}

/** Adds a request, or (-1) removes it. */
export function addLoad(queue: HoldQueue, { caller, bytes }: HeldRequest, sign: 1 | -1): void {
  const own = queue.loads.get(caller) ?? { holds: 0, bytes: 0 };
  for (const load of [queue, own]) {
    load.holds += sign;
    load.bytes += sign * bytes;
  }
  if (own.holds === 0) queue.loads.delete(caller);
  else queue.loads.set(caller, own);
}
