/** Observations of an engine, the verdict on it, and the thresholds by which it is evaluated (docs/engines.md). */
import type { FaultBounds } from './fault-streak.ts';

export type Observation =
  | { kind: 'probe'; result: 'good' }
  /** A status other than 2xx, or a connection that was closed without a response. */
  | { kind: 'probe'; result: 'bad'; reason: string }
  /** No response in time, whether the connection was accepted or not. */
  | { kind: 'probe'; result: 'slow' }
  /** Connection refused: the process is gone. Seen by a probe or a request. */
  | { kind: 'refused' }
  | { kind: 'started'; work: number }
  /** A status line: the engine's HTTP server is alive, whatever the model does. */
  | { kind: 'answered' }
  /** A piece of good output: the model itself works. */
  | { kind: 'output'; work: number }
  /** Whether it waits for a slow client, and not for the engine. */
  | { kind: 'held'; work: number; isHeld: boolean }
  | { kind: 'ended'; work: number; outcome: WorkOutcome }
  /** Work that started and succeeded since the last report. */
  | { kind: 'served'; count: number }
  /** Result of a canary, which is certainly valid; `unknown`: there is no canary. */
  | { kind: 'tried'; result: 'good' | 'fault' | 'unknown' };

/**
 * `neutral`: the engine refused the request, or nobody waited for it anymore. `stuck`: nobody waits anymore, and the
 * engine has not ended it within a very long time.
 */
export type WorkOutcome = 'good' | 'fault' | 'neutral' | 'stuck';

export type EnginePhase = 'starting' | 'healthy' | 'busy' | 'unhealthy';

export interface EngineVerdict {
  phase: EnginePhase;
  /** Description; empty while healthy. */
  reason: string;
  /** When the phase started. */
  since: number;
  /** Requests may be sent to it. */
  isReady: boolean;
  /** False: a restart may be the only remedy. The kubelet waits 5 minutes more. */
  isAlive: boolean;
  /** Its current work can no longer succeed. */
  isLost: boolean;
  /** It no longer accepts connections, and has sent nothing for a while on those that it has (decision 0329). */
  isDeserted: boolean;
  /** Requests fail, which may be their own fault: a canary would show. */
  isInDoubt: boolean;
}

export interface EngineBounds extends FaultBounds {
  /** Without a sign of life and with failed probes for this long, the engine is unready. */
  silentMs: number;
  /** After this long it counts as lost. */
  lostMs: number;
  /** Without a sign of life and with refused connections for this long, its work is abandoned. */
  desertedMs: number;
  /** Output this recent outweighs a failing health check. */
  flowingMs: number;
  /** Work that has waited this long without output counts as hanging. */
  hangingAfterMs: number;
  /** Number of stalled requests before the engine counts as hanging. */
  stalledTasks: number;
  /** Without output for this long, one stuck request is enough. */
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
