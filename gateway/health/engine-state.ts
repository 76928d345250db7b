/**
 * Judges an engine by what is seen of it: busy is not dead, and hanging is not alive. Pure: no timer, no clock, no I/O.
 * docs/operations.md has the rules.
 */

import { type FaultBounds, FaultStreak } from './fault-streak.ts';
import { PendingWork } from './pending-work.ts';

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
  /** Requests fail, which may be their own fault: a request of the gateway's own would show. */
  isInDoubt: boolean;
}

export interface EngineBounds extends FaultBounds {
  /** Without any sign of life and with unanswered probes for this long, the engine is unready. */
  silentMs: number;
  /** And after this long it counts as lost. */
  lostMs: number;
  /** Output so recent outweighs a health check that fails. */
  flowingMs: number;
  /** Work that has waited this long without output counts as hanging. */
  hangingAfterMs: number;
  /** Works that have to wait in vain before the engine counts as hanging. */
  stalledWorks: number;
  /** Without any output for this long, one work that is stuck is enough. */
  stuckMs: number;
}

export const ENGINE_BOUNDS: EngineBounds = {
  silentMs: 60_000,
  lostMs: 300_000,
  flowingMs: 10_000,
  hangingAfterMs: 30_000,
  stalledWorks: 3,
  stuckMs: 300_000,
  faults: 5,
  failingMs: 60_000,
  restMs: 30_000,
  trialFaults: 3,
  needsProof: false,
};

const BAD_PROBES = 2;
const NOT_YET = 'no response yet';

interface Decision {
  phase: EnginePhase;
  reason: string;
  /** Requests accuse it, whatever its health check says. */
  isAccused?: boolean;
}

export class EngineState {
  readonly #bounds: EngineBounds;
  readonly #works: PendingWork;
  readonly #faults: FaultStreak;
  #verdict: EngineVerdict;
  #at: number;
  /** A probe was good since the engine was last seen to start. */
  #hasServed = false;
  #isGone = false;
  #lifeAt: number;
  #outputAt = Number.NEGATIVE_INFINITY;
  #slowProbes = 0;
  #badProbes = 0;
  #badReason = '';
  /** Of a work that has not ended, and that nobody waits for. */
  #stuckAt: number | null = null;

  /** All times are milliseconds of one clock that never runs backwards. */
  constructor(at: number, bounds: Partial<EngineBounds> = {}) {
    this.#bounds = { ...ENGINE_BOUNDS, ...bounds };
    this.#works = new PendingWork(at, this.#bounds.hangingAfterMs);
    this.#faults = new FaultStreak(this.#bounds);
    this.#at = at;
    this.#lifeAt = at;
    this.#verdict = {
      phase: 'starting',
      reason: NOT_YET,
      since: at,
      isReady: false,
      isAlive: true,
      isLost: true,
      isInDoubt: false,
    };
  }

  get verdict(): EngineVerdict {
    return this.#verdict;
  }

  observe(at: number, seen: Observation): void {
    this.#pass(at);
    switch (seen.kind) {
      case 'probe':
        this.#seeProbe(seen);
        break;
      case 'refused':
        this.#seeRefusal();
        break;
      case 'started':
        this.#works.begin(seen.work);
        break;
      case 'answered':
        this.#lifeAt = at;
        break;
      case 'output':
        this.#seeOutput(seen.work);
        break;
      case 'held':
        this.#works.hold(seen.work, seen.isHeld);
        break;
      case 'ended':
        this.#seeEnd(seen.work, seen.outcome);
        break;
      case 'tried':
        this.#seeTrial(seen.result);
    }
  }

  /** The verdict of now. `stalledMs`: how long work may wait without any output before the engine counts as hanging. */
  judge(at: number, stalledMs: number): EngineVerdict {
    this.#pass(at);
    this.#works.forgetAfter(stalledMs);
    const { phase, reason, isAccused = false } = this.#decide(stalledMs);
    const silence = at - this.#lifeAt;
    this.#verdict = {
      phase,
      reason,
      since: phase === this.#verdict.phase ? this.#verdict.since : at,
      isReady: phase === 'healthy' || phase === 'busy',
      isAlive: !isAccused && silence < this.#bounds.silentMs,
      isLost: this.#isGone || !this.#hasServed || silence >= this.#bounds.lostMs,
      isInDoubt: this.#isInDoubt,
    };
    return this.#verdict;
  }

  get #isInDoubt(): boolean {
    const streak = this.#faults.read(this.#at);
    return this.#bounds.needsProof && (streak === 'suspected' || streak === 'trial');
  }

  #decide(stalledMs: number): Decision {
    if (this.#isGone) return { phase: 'unhealthy', reason: 'connection refused' };
    if (!this.#hasServed) return { phase: 'starting', reason: this.#badReason || NOT_YET };
    return this.#accuse(stalledMs) ?? this.#weighProbes();
  }

  /** Evidence of requests against it. */
  #accuse(stalledMs: number): Decision | null {
    const { waitedMs } = this.#works;
    const hanging = waitedMs >= stalledMs ? this.#works.countHanging() : 0;
    if (hanging >= this.#bounds.stalledWorks) {
      const reason = `${hanging} requests waited ${seconds(waitedMs)} s without any output`;
      return { phase: 'unhealthy', reason, isAccused: true };
    }
    if (this.#stuckAt !== null && this.#at - this.#stuckAt < stalledMs) {
      const reason = `a job that was given up still occupies it, without output for ${seconds(waitedMs)} s`;
      return { phase: 'unhealthy', reason, isAccused: true };
    }
    const streak = this.#faults.read(this.#at);
    if (streak === 'none' || streak === 'suspected') return null;
    const reason = `the last ${this.#faults.count} requests failed`;
    return streak === 'resting'
      ? { phase: 'unhealthy', reason, isAccused: true }
      : { phase: 'busy', reason: `recovering: ${reason}`, isAccused: true };
  }

  #weighProbes(): Decision {
    const { silentMs, flowingMs } = this.#bounds;
    const isFlowing = this.#at - this.#outputAt < flowingMs;
    if (this.#badProbes >= BAD_PROBES && !isFlowing) return { phase: 'unhealthy', reason: this.#badReason };
    const silence = this.#at - this.#lifeAt;
    if (silence >= silentMs && this.#slowProbes > 0)
      return { phase: 'unhealthy', reason: `no response for ${seconds(silence)} s` };
    if (this.#slowProbes > 0) return { phase: 'busy', reason: 'health check is slow' };
    if (this.#badProbes > 0) return { phase: 'busy', reason: this.#badReason };
    return { phase: 'healthy', reason: '' };
  }

  #pass(at: number): void {
    this.#works.pass(at);
    this.#at = at;
  }

  #seeProbe(seen: Extract<Observation, { kind: 'probe' }>): void {
    this.#isGone = false;
    if (seen.result === 'slow') {
      this.#slowProbes++;
      return;
    }
    this.#slowProbes = 0;
    if (seen.result === 'bad') {
      this.#badProbes++;
      this.#badReason = seen.reason;
      return;
    }
    this.#badProbes = 0;
    this.#badReason = '';
    this.#hasServed = true;
    this.#lifeAt = this.#at;
  }

  /** All that was known was of a process that is no more. */
  #seeRefusal(): void {
    // Before its first answer it is only starting: nobody listens yet.
    this.#isGone ||= this.#hasServed;
    this.#hasServed = false;
    this.#slowProbes = 0;
    this.#badProbes = 0;
    this.#badReason = '';
    this.#works.forget();
    this.#stuckAt = null;
    this.#faults.end();
  }

  #seeOutput(work?: number): void {
    this.#outputAt = this.#at;
    this.#lifeAt = this.#at;
    this.#works.progress(work);
    this.#stuckAt = null;
    this.#faults.end();
  }

  #seeTrial(result: 'good' | 'fault' | 'unknown'): void {
    if (result === 'good') this.#seeOutput();
    // Where nothing can be tried, what requests say has to do.
    else if (this.#isInDoubt && (result === 'fault' || this.#faults.isSuspected))
      this.#faults.confirm(this.#at);
  }

  #seeEnd(work: number, outcome: WorkOutcome): void {
    if (!this.#works.end(work, outcome === 'neutral' || outcome === 'stuck')) return;
    if (outcome === 'good') this.#seeOutput();
    // Others that have output meanwhile show that it is only that one.
    if (outcome === 'stuck' && this.#works.waitedMs >= this.#bounds.stuckMs) this.#stuckAt = this.#at;
    if (outcome !== 'fault') return;
    // What answers with errors does not hang.
    this.#works.forget();
    this.#faults.add(this.#at);
  }
}

const seconds = (ms: number): number => Math.round(ms / 1000);
