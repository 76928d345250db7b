/** What is seen of an engine, the verdict on it, and the bounds by which it is evaluated (docs/operations.md). */
import type { FaultBounds } from './fault-streak.ts';

export type Observation =
  | { kind: 'probe'; result: 'good' }
  /** A status other than 2xx, or a connection that was closed without an answer. */
  | { kind: 'probe'; result: 'bad'; reason: string }
  /** No answer in time, whether the connection was accepted or not. */
  | { kind: 'probe'; result: 'slow' }
  /** Nobody listens: the process is gone. Seen by a probe or a request. */
  | { kind: 'refused' }
  | { kind: 'started'; work: number }
  /** A status line: the engine's HTTP server lives, whatever the model does. */
  | { kind: 'answered' }
  /** A piece of good output: the model itself works. */
  | { kind: 'output'; work: number }
  /** Whether it waits for a slow client, and not for the engine. */
  | { kind: 'held'; work: number; isHeld: boolean }
  | { kind: 'ended'; work: number; outcome: WorkOutcome }
  /** Works that began and ended well since the last look. */
  | { kind: 'served'; count: number }
  /** What it made of a request of the gateway's own, which is certainly right; `unknown`: there is no such request. */
  | { kind: 'tried'; result: 'good' | 'fault' | 'unknown' };

/**
 * `neutral`: the engine refused the request, or nobody waited for it any longer. `stuck`: nobody waits any longer, and the
 * engine has not ended it in a time that is long for anything.
 */
export type WorkOutcome = 'good' | 'fault' | 'neutral' | 'stuck';

export type EnginePhase = 'starting' | 'healthy' | 'busy' | 'unhealthy';

export interface EngineVerdict {
  phase: EnginePhase;
  /** In words; empty while healthy. */
  reason: string;
  /** When the phase began. */
  since: number;
  /** Requests may be sent to it. */
  isReady: boolean;
  /** False: a restart may be the only remedy. The kubelet waits 5 minutes more. */
  isAlive: boolean;
  /** Nothing that it was given can end well any more. */
  isLost: boolean;
  /** It no longer accepts connections, and has sent nothing for a while on those that it has. */
  isDeserted: boolean;
  /** Requests fail, which may be their own fault: a request of the gateway's own would show. */
  isInDoubt: boolean;
}

export interface EngineBounds extends FaultBounds {
  /** Without any sign of life and with unanswered probes for this long, the engine is unready. */
  silentMs: number;
  /** And after this long it counts as lost. */
  lostMs: number;
  /** Without any sign of life and with connections refused for this long, what it was given is given up. */
  desertedMs: number;
  /** Output so recent outweighs a health check that fails. */
  flowingMs: number;
  /** Work that has waited this long without output counts as hanging. */
  hangingAfterMs: number;
  /** Works that have to wait in vain before the engine counts as hanging. */
  stalledTasks: number;
  /** Without any output for this long, one work that is stuck is enough. */
  stuckMs: number;
}

export const ENGINE_BOUNDS: EngineBounds = {
  silentMs: 60_000,
  lostMs: 300_000,
  desertedMs: 5_000,
  flowingMs: 10_000,
  hangingAfterMs: 30_000,
  stalledTasks: 3,
  stuckMs: 300_000,
  faults: 5,
  failingMs: 60_000,
  restMs: 30_000,
  trialFaults: 3,
  needsProof: false,
};
