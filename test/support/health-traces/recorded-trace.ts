/** A gateway's observations of a real engine, recorded by `test/engines/health.test.ts`, and the required conclusions. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Judgment, readTrace, replay, type TraceStep } from './trace-lines.ts';

export const SITUATIONS = {
  saturated: 'has more requests than places',
  starved: 'shares its cores with programs that want them all',
  stopped: 'is stopped (SIGSTOP), and goes on later',
  killed: 'is killed, and started again',
  starting: 'starts',
} as const;
export type Situation = keyof typeof SITUATIONS;

export interface RecordedTrace {
  engine: string;
  version: string;
  /** `2026-11-23`. */
  date: string;
  situation: Situation;
  lines: string[];
}

const FOLDER = join(import.meta.dirname, 'recorded');
/** The gateway's default for text. */
const STALLED_MS = 600_000;
/** Probes of a healthy engine are sent every 5 s and take up to 10 s; slowness takes a second one. */
const NOTICED_MS = 20_000;
/** A minute without a sign of life, and the probe that shows it. */
const SILENT_MS = 75_000;

export const listRecordedTraces = (): RecordedTrace[] =>
  globSync('*.json', { cwd: FOLDER })
    .sort()
    .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));

/** Replaces the previous one. */
export function writeRecordedTrace(trace: RecordedTrace): void {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${trace.engine}-${trace.situation}.json`);
  writeFileSync(path, `${JSON.stringify(trace, null, 2)}\n`);
}

/** Throws if a gateway would draw a wrong conclusion. */
export function checkTrace({ situation, lines }: Pick<RecordedTrace, 'situation' | 'lines'>): void {
  const steps = readTrace(lines);
  CHECKS[situation](new Replay(steps));
}

class Replay {
  readonly #steps: readonly TraceStep[];
  readonly #judgments: Judgment[];

  constructor(steps: readonly TraceStep[]) {
    this.#steps = steps;
    this.#judgments = replay(steps, STALLED_MS);
  }

  /** The time of an action on the engine. */
  find(did: string): number {
    const step = this.#steps.find((step) => step.did === did);
    if (!step) throw new Error(`nothing was recorded of ${did}`);
    return step.at;
  }

  findSeen(pattern: RegExp, from = 0): number {
    const step = this.#steps.find(({ at, line }) => at >= from && pattern.test(line));
    if (!step) throw new Error(`${pattern} was not seen`);
    return step.at;
  }

  between(from: number, to = Number.POSITIVE_INFINITY): Judgment[] {
    return this.#judgments.filter(({ at }) => at >= from && at < to);
  }

  get last(): Judgment {
    return this.#judgments.at(-1)!;
  }

  /** Expects that `is` holds within a time after `from`, and until `to`. */
  becomes(is: (judgment: Judgment) => boolean, { from, within, to }: Span, what: string): void {
    const late = this.between(from + within, to).find((judgment) => !is(judgment));
    expect(late, `${what} from ${(from + within) / 1000} s on`).to.equal(undefined);
  }
}

interface Span {
  from: number;
  within: number;
  to?: number;
}

const GOOD = /probe good/;
const isServing = ({ verdict }: Judgment): boolean => verdict.isReady && verdict.isAlive;

function checkBusy(replay: Replay): void {
  replay.becomes(isServing, { from: replay.findSeen(GOOD), within: 0 }, 'ready and alive');
}

function checkStart(replay: Replay, from = 0): void {
  const served = replay.findSeen(GOOD, from);
  const early = replay.between(from, served).find(({ verdict }) => verdict.isReady);
  expect(early, 'ready before its first good answer').to.equal(undefined);
  expect(replay.last.verdict).to.include({ phase: 'healthy', isAlive: true });
}

const CHECKS: Record<Situation, (replay: Replay) => void> = {
  saturated: checkBusy,
  starved: checkBusy,
  starting: (replay) => checkStart(replay),
  stopped: (replay) => {
    const stopped = replay.find('SIGSTOP');
    const continued = replay.find('SIGCONT');
    replay.becomes(
      ({ verdict }) => !verdict.isReady && !verdict.isAlive && !verdict.isLost,
      { from: stopped, within: SILENT_MS, to: continued },
      'unready, and its work not given up,',
    );
    replay.becomes(isServing, { from: continued, within: NOTICED_MS }, 'ready again');
  },
  killed: (replay) => {
    const killed = replay.find('SIGKILL');
    const refused = replay.findSeen(/refused/, killed);
    expect(refused - killed, 'until it is noticed').to.be.below(NOTICED_MS);
    const served = replay.findSeen(GOOD, refused);
    replay.becomes(
      ({ verdict }) => !verdict.isReady && verdict.isLost,
      { from: refused, within: 0, to: served },
      'lost',
    );
    checkStart(replay, refused);
  },
};
