/**
 * Evaluates an engine by observations: busy is not dead, and hanging is not alive (decisions 0017, 0018). Pure: no timer, no clock, no I/O.
 * docs/engines.md has the rules.
 */

import {
  ENGINE_BOUNDS,
  type EngineBounds,
  type EnginePhase,
  type EngineVerdict,
  type Observation,
  type WorkOutcome,
} from './engine-verdict.ts';
import { FaultRatio } from './fault-ratio.ts';
import { FaultStreak } from './fault-streak.ts';
import { PendingWork } from './pending-work.ts';

const BAD_PROBES = 2;
const NOT_YET = 'no response yet';

interface Decision {
  phase: EnginePhase;
  reason: string;
  /** Requests fail, whatever its health check reports. */
  isAccused?: boolean;
}

export class EngineState {
  readonly #bounds: EngineBounds;
  readonly #pending: PendingWork;
  readonly #faults: FaultStreak;
  readonly #ratio: FaultRatio;
  #verdict: EngineVerdict;
  #at: number;
  /** A probe has succeeded since the engine was last seen starting. */
  #hasServed = false;
  /** Since when nothing listens on its port. */
  #goneAt: number | null = null;
  #lifeAt: number;
  #outputAt = Number.NEGATIVE_INFINITY;
  #slowProbes = 0;
  #badProbes = 0;
  #badReason = '';
  /** For unfinished work that nobody waits for. */
  #stuckAt: number | null = null;

  /** All times are milliseconds of one clock that never runs backwards. */
  constructor(at: number, bounds: Partial<EngineBounds> = {}) {
    this.#bounds = { ...ENGINE_BOUNDS, ...bounds };
    this.#pending = new PendingWork(at, this.#bounds.hangingAfterMs);
    this.#faults = new FaultStreak(this.#bounds);
    this.#ratio = new FaultRatio(this.#bounds.failingMs);
    this.#at = at;
    this.#lifeAt = at;
    this.#verdict = {
      phase: 'starting',
      reason: NOT_YET,
      since: at,
      isReady: false,
      isAlive: true,
      isLost: true,
      isDeserted: false,
      isInDoubt: false,
    };
  }

  get verdict(): EngineVerdict {
    return this.#verdict;
  }

  /** How long work has waited, since any output. */
  get waitedMs(): number {
    return this.#pending.waitedMs;
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
        this.#pending.begin(seen.work);
        break;
      case 'answered':
        this.#lifeAt = at;
        break;
      case 'output':
        this.#seeOutput(seen.work);
        break;
      case 'held':
        this.#pending.hold(seen.work, seen.isHeld);
        break;
      case 'ended':
        this.#seeEnd(seen.work, seen.outcome);
        break;
      case 'served':
        this.#ratio.add(at, false, seen.count);
        this.#seeOutput();
        break;
      case 'tried':
        this.#seeTrial(seen.result);
    }
  }

  /** The current verdict. `stalledMs`: how long work may wait without output before the engine counts as hanging. */
  evaluate(at: number, stalledMs: number): EngineVerdict {
    this.#pass(at);
    this.#pending.forgetAfter(stalledMs);
    const { phase, reason, isAccused = false } = this.#decide(stalledMs);
    const silence = at - this.#lifeAt;
    this.#verdict = {
      phase,
      reason,
      since: phase === this.#verdict.phase ? this.#verdict.since : at,
      isReady: phase === 'healthy' || phase === 'busy',
      isAlive: !isAccused && silence < this.#bounds.silentMs,
      isLost: this.#goneAt !== null || !this.#hasServed || silence >= this.#bounds.lostMs,
      // Streams may still flow after the port was closed.
      isDeserted:
        this.#goneAt !== null && at - Math.max(this.#goneAt, this.#lifeAt) >= this.#bounds.desertedMs,
      isInDoubt: this.#isInDoubt,
    };
    return this.#verdict;
  }

  get #isInDoubt(): boolean {
    if (!this.#bounds.needsProof) return false;
    const streak = this.#faults.read(this.#at);
    return streak === 'none' ? this.#ratio.isHigh(this.#at) : streak !== 'resting';
  }

  #decide(stalledMs: number): Decision {
    if (this.#goneAt !== null) return { phase: 'unhealthy', reason: 'connection refused' };
    if (!this.#hasServed) return { phase: 'starting', reason: this.#badReason || NOT_YET };
    return this.#accuse(stalledMs) ?? this.#weighProbes();
  }

  /** Evidence from failed requests. */
  #accuse(stalledMs: number): Decision | null {
    const { waitedMs } = this.#pending;
    const hanging = waitedMs >= stalledMs ? this.#pending.countHanging() : 0;
    if (hanging >= this.#bounds.stalledTasks) {
      const reason = `${hanging} requests waited ${seconds(waitedMs)} s without any output`;
      return { phase: 'unhealthy', reason, isAccused: true };
    }
    if (this.#stuckAt !== null && this.#at - this.#stuckAt < stalledMs) {
      const reason = `an abandoned job still occupies it, without output for ${seconds(waitedMs)} s`;
      return { phase: 'unhealthy', reason, isAccused: true };
    }
    const streak = this.#faults.read(this.#at);
    if (streak === 'none' || streak === 'suspected') return null;
    const { count } = this.#faults;
    const reason =
      count >= this.#bounds.faults ? `the last ${count} requests failed` : 'most requests failed';
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
    this.#pending.pass(at);
    this.#at = at;
  }

  #seeProbe(seen: Extract<Observation, { kind: 'probe' }>): void {
    this.#goneAt = null;
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

  /** All earlier observations concern a process that is gone. */
  #seeRefusal(): void {
    // Before its first response it is only starting: nothing listens yet.
    if (this.#hasServed) this.#goneAt ??= this.#at;
    this.#hasServed = false;
    this.#slowProbes = 0;
    this.#badProbes = 0;
    this.#badReason = '';
    this.#pending.forget();
    this.#stuckAt = null;
    this.#faults.end();
    this.#ratio.forget();
  }

  #seeOutput(work?: number): void {
    this.#outputAt = this.#at;
    this.#lifeAt = this.#at;
    this.#pending.progress(work);
    this.#stuckAt = null;
    // For an engine that failed a trial, a rare success or an old stream is no recovery; only the next trial is.
    const failsTrials = this.#bounds.needsProof && this.#faults.isConfirmed;
    if (!failsTrials || !this.#ratio.isHigh(this.#at)) this.#faults.end();
  }

  #seeTrial(result: 'good' | 'fault' | 'unknown'): void {
    if (result !== 'fault') this.#ratio.forget();
    if (result === 'good') this.#seeOutput();
    // Without a canary, requests have to be enough evidence.
    else if (this.#isInDoubt && (result === 'fault' || this.#faults.isSuspected))
      this.#faults.confirm(this.#at);
  }

  #seeEnd(work: number, outcome: WorkOutcome): void {
    if (!this.#pending.end(work, outcome === 'neutral' || outcome === 'stuck')) return;
    if (outcome === 'good' || outcome === 'fault') this.#ratio.add(this.#at, outcome === 'fault');
    if (outcome === 'good') this.#seeOutput();
    // Output of other work meanwhile shows that only this one is stuck.
    if (outcome === 'stuck' && this.#pending.waitedMs >= this.#bounds.stuckMs) this.#stuckAt = this.#at;
    if (outcome !== 'fault') return;
    // An engine that returns errors does not hang.
    this.#pending.forget();
    this.#faults.add(this.#at);
  }
}

const seconds = (ms: number): number => Math.round(ms / 1000);
