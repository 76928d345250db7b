/** The queue of one deployment: who waits, who has a turn, and what one caller may take of it. */
import type { DeploymentName } from '../../../redis/publication/publication.ts';

export interface HoldLimits {
  /** Of all deployments together; a workspace may have twice as many as are still free. */
  total: number;
  perDeployment: number;
  /** Of bodies that are read, and of what sockets hold of others. */
  bytesPerDeployment: number;
}

/** Why a wait ended without a replica. */
export type HoldEnd = 'expired' | 'gone' | 'closing' | 'left';

/** A request's turn at these replicas; `leave` once it is over, `isRefused` where they had no place for it after all. */
export interface Turn {
  addresses: readonly string[];
  leave(outcome?: { isRefused?: boolean }): void;
}

export interface Waiter {
  order: number;
  give(result: Turn | HoldEnd): void;
}

/** What waits with a place: of a queue, or of one caller in it. */
interface Load {
  holds: number;
  bytes: number;
}

export interface HoldQueue extends DeploymentName, Load {
  /** Those with a place: they wait, or have their turn and may have to wait again. */
  holds: number;
  /** By caller. */
  loads: Map<string, Load>;
  waiting: Set<Waiter>;
  /** Requests that have their turn. */
  running: number;
  /** By the clock: replicas that refused are left alone until then. */
  pausedUntil: number;
  isServing: boolean;
  mustServeAgain: boolean;
}

export interface HeldRequest {
  /** Whose share of the queue it takes: its API key. */
  caller: string;
  bytes: number;
  timeoutMs: number;
}

/** Of a queue's places and bytes that one caller may have; a single request always fits. */
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

/** Whether there is no place for one more request, or none for its caller. */
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

/** Counts a request's place, or (-1) its end. */
export function addLoad(queue: HoldQueue, { caller, bytes }: HeldRequest, sign: 1 | -1): void {
  const own = queue.loads.get(caller) ?? { holds: 0, bytes: 0 };
  for (const load of [queue, own]) {
    load.holds += sign;
    load.bytes += sign * bytes;
  }
  if (own.holds === 0) queue.loads.delete(caller);
  else queue.loads.set(caller, own);
}
