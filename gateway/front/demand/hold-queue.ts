/** The queue of one deployment: waiters, turns, and limits per caller. */
import type { DeploymentName } from '../../../api/names.ts';
import { Shares } from '../../../kit/shares.ts';

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

export interface HoldQueue extends DeploymentName {
  /** Places of requests that wait, or have their turn and may have to wait again; by caller. */
  places: Shares;
  bytes: Shares;
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

export const createQueue = (
  { namespace, name }: DeploymentName,
  { perDeployment, bytesPerDeployment }: HoldLimits,
): HoldQueue => ({
  namespace,
  name,
  places: new Shares({ total: perDeployment, perOwner: perDeployment * CALLER_SHARE }),
  bytes: new Shares({ total: bytesPerDeployment, perOwner: bytesPerDeployment * CALLER_SHARE }),
  waiting: new Set(),
  running: 0,
  pausedUntil: 0,
  isServing: false,
  mustServeAgain: false,
});
