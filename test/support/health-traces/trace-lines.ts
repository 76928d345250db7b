/**
 * What gateways saw of engines, in lines: a time in seconds, what is seen, and what is evaluated then. `10-60/5` means from 10 to 60
 * every 5 s; after `->` stand the phase and, where it matters, what follows from it; `did` tells what happened to the engine.
 */

import { EngineState } from '../../../gateway/health/engine-state.ts';
import type { EngineVerdict, Observation, WorkOutcome } from '../../../gateway/health/engine-verdict.ts';

export interface TraceStep {
  /** Milliseconds. */
  at: number;
  /** Null for an action on the engine. */
  seen: Observation | null;
  did: string;
  expected: string[];
  line: string;
}

export interface Judgment {
  at: number;
  verdict: EngineVerdict;
}

/** As often as the gateway evaluates by itself. */
const JUDGE_INTERVAL_MS = 500;

/** Sorted by time, since lines may overlap. */
export const readTrace = (lines: readonly string[]): TraceStep[] =>
  lines
    .filter((line) => line.trim() !== '')
    .flatMap(readLine)
    .sort((a, b) => a.at - b.at);

function readLine(line: string): TraceStep[] {
  const [left = '', right = ''] = line.split('->');
  const [times = '', what = '', ...words] = left.trim().split(/\s+/);
  const expected = right.trim().split(/\s+/).filter(Boolean);
  const did = what === 'did' ? words.join(' ') : '';
  const seen = did === '' ? readObservation(what, words) : null;
  return readTimes(times).map((at) => ({ at, seen, did, expected, line: line.trim() }));
}

function readTimes(text: string): number[] {
  const [, from, to, every] = /^([\d.]+)(?:-([\d.]+)\/([\d.]+))?$/.exec(text)!;
  if (to === undefined) return [Number(from) * 1000];
  const count = Math.floor((Number(to) - Number(from)) / Number(every) + 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => (Number(from) + index * Number(every)) * 1000);
}

function readObservation(what: string, [first = '', second = '', ...rest]: string[]): Observation {
  const work = Number(first);
  switch (what) {
    case 'probe': {
      const reason = [second, ...rest].join(' ') || 'health check returned 503';
      return first === 'bad'
        ? { kind: 'probe', result: 'bad', reason }
        : { kind: 'probe', result: first as 'good' | 'slow' };
    }
    case 'begin':
      return { kind: 'started', work };
    case 'output':
      return { kind: 'output', work };
    case 'held':
      return { kind: 'held', work, isHeld: second !== 'no' };
    case 'end':
      return { kind: 'ended', work, outcome: second as WorkOutcome };
    case 'tried':
      return { kind: 'tried', result: first as 'good' | 'fault' | 'unknown' };
    case 'answered':
    case 'refused':
      return { kind: what };
    default:
      throw new Error(`what is ${what}?`);
  }
}

/** The line from which `readTrace` reads this. */
export function formatStep(at: number, seen: Observation | string): string {
  return `${(at / 1000).toFixed(3)} ${typeof seen === 'string' ? `did ${seen}` : formatObservation(seen)}`;
}

function formatObservation(seen: Observation): string {
  switch (seen.kind) {
    case 'probe':
      return seen.result === 'bad' ? `probe bad ${seen.reason}` : `probe ${seen.result}`;
    case 'started':
      return `begin ${seen.work}`;
    case 'output':
      return `output ${seen.work}`;
    case 'held':
      return `held ${seen.work} ${seen.isHeld ? 'yes' : 'no'}`;
    case 'ended':
      return `end ${seen.work} ${seen.outcome}`;
    case 'tried':
      throw new Error('traces have no trials');
    default:
      return seen.kind;
  }
}

/** The conclusions of a gateway with default bounds at each evaluation. */
export function replay(steps: readonly TraceStep[], stalledMs: number): Judgment[] {
  const state = new EngineState(0);
  const judgments: Judgment[] = [];
  const evaluate = (at: number) => judgments.push({ at, verdict: state.evaluate(at, stalledMs) });
  let at = 0;
  for (const step of steps) {
    for (at += JUDGE_INTERVAL_MS; at < step.at; at += JUDGE_INTERVAL_MS) evaluate(at);
    at = step.at;
    if (!step.seen) continue;
    state.observe(at, step.seen);
    evaluate(at);
  }
  return judgments;
}
