import { expect } from 'chai';
import {
  type Baseline,
  buildBaseline,
  evaluate,
  type Figures,
  formatBaseline,
  formatCheck,
  isWorse,
  readFigures,
  takeBetter,
  widen,
} from '../../bench/check/regression.ts';
import type { ShortRound, ShortRun, Turn } from '../../bench/check/short-run.ts';

const turn = (more: Partial<Turn> = {}): Turn => ({
  singleP50Ms: 0.2,
  cpuPerRequestMicros: 50,
  cpuPerFrameMicros: 2,
  errors: 0,
  ...more,
});
const round = (berth: Partial<Turn> = {}, floor: Partial<Turn> = {}): ShortRound => ({
  directP50Ms: 0.1,
  floor: turn(floor),
  berth: turn(berth),
});
const run = (...rounds: ShortRound[]): ShortRun => ({
  idleMiB: 80,
  collections: { promotedKBPerRequest: 1.2, markCompactsPer10000: 0.5 },
  rounds,
});

const FIGURES: Figures = {
  cpuPerRequest: 2,
  cpuPerFrame: 1.5,
  addedLatency: 3,
  idleMiB: 80,
  promotedKB: 1.2,
  markCompacts: 0.5,
  errors: 0,
};
const RECORDING = { date: '2026-11-24', machine: '2 cores' };
const recordAll = (...measurements: Partial<Figures>[]): Baseline =>
  buildBaseline(
    measurements.map((each) => ({ ...FIGURES, ...each })),
    RECORDING,
  );
const BASELINE = recordAll({}, {}, {});

describe('the figures of a short run of the bench', () => {
  it('are medians of the ratios of rounds, so that a slow spell changes nothing', () => {
    const slowSpell = round(
      { cpuPerRequestMicros: 800, cpuPerFrameMicros: 30 },
      { cpuPerRequestMicros: 400, cpuPerFrameMicros: 20 },
    );
    const berth = { cpuPerRequestMicros: 100, cpuPerFrameMicros: 3 };
    const figures = readFigures(
      run(round(berth), slowSpell, round({ ...berth, cpuPerRequestMicros: 9_000 })),
    );
    expect(figures).to.include({ cpuPerRequest: 2, cpuPerFrame: 1.5, idleMiB: 80 });
  });

  it('have what Berth adds to the latency of the engine over what the floor adds', () => {
    const { addedLatency } = readFigures(run(round({ singleP50Ms: 0.4 })));
    expect(addedLatency).to.be.closeTo(3, 1e-9);
  });

  it('have no added latency where the floor seems to add none', () => {
    const { addedLatency } = readFigures(run(round({}, { singleP50Ms: 0.1 })));
    expect(addedLatency).to.be.NaN;
  });

  it('have the failed requests of all rounds', () => {
    expect(readFigures(run(round({ errors: 2 }), round(), round({ errors: 1 }))).errors).to.equal(3);
  });
});

describe('a figure beside the recorded one', () => {
  const recorded = { median: 2, band: 0.25 };

  it('is ok within the band', () => {
    for (const value of [1.6, 2, 2.5]) expect(evaluate(value, recorded)).to.equal('ok');
  });

  it('is worse above it', () => expect(evaluate(2.51, recorded)).to.equal('worse'));

  it('is better below it, and to be recorded again', () =>
    expect(evaluate(1.59, recorded)).to.equal('better: record again'));

  it('says where it could not be measured', () =>
    expect(evaluate(Number.NaN, recorded)).to.equal('not measured'));

  it('is worse where no request was served', () =>
    expect(evaluate(Number.POSITIVE_INFINITY, recorded)).to.equal('worse'));

  it('may be anything below what makes no difference', () => {
    expect(evaluate(0.9, { median: 0, band: 0.1 }, 1)).to.equal('ok');
    expect(evaluate(1.1, { median: 0, band: 0.1 }, 1)).to.equal('worse');
    expect(evaluate(0.1, recorded, 1)).to.equal('better: record again');
    expect(evaluate(0.1, { median: 0, band: 0.1 }, 1)).to.equal('ok');
  });

  it('may be twice as high with bands for other machines, or more where the noise was', () => {
    const noisy = recordAll({}, { cpuPerFrame: 1.5 }, { cpuPerFrame: 3 });
    const { cpuPerRequest, cpuPerFrame } = widen(noisy).figures;
    expect(cpuPerRequest.band).to.equal(1);
    expect(cpuPerFrame.band).to.equal(2);
    expect(evaluate(3.99, cpuPerRequest)).to.equal('ok');
    expect(evaluate(4.01, cpuPerRequest)).to.equal('worse');
  });
});

describe('the check of the bench', () => {
  it('passes with figures that are as recorded, better, or not measured', () => {
    const figures = { ...FIGURES, cpuPerRequest: 1, addedLatency: Number.NaN };
    expect(isWorse(FIGURES, BASELINE)).to.equal(false);
    expect(isWorse(figures, BASELINE)).to.equal(false);
  });

  it('fails with one that is worse, and with failed requests', () => {
    expect(isWorse({ ...FIGURES, idleMiB: 89 }, BASELINE)).to.equal(true);
    expect(isWorse({ ...FIGURES, errors: 1 }, BASELINE)).to.equal(true);
  });

  it('holds against Berth only what two measurements show', () => {
    const first = { ...FIGURES, cpuPerRequest: 9, addedLatency: Number.NaN, errors: 4 };
    const second = { ...FIGURES, cpuPerFrame: 9 };
    expect(takeBetter(first, second)).to.deep.equal(FIGURES);
    expect(takeBetter(second, first)).to.deep.equal(FIGURES);
    expect(isWorse(takeBetter(first, { ...first, errors: 0 }), BASELINE)).to.equal(true);
  });

  it('says what became worse, by how much, and how to record it again', () => {
    const text = formatCheck({ ...FIGURES, cpuPerRequest: 2.6 }, BASELINE);
    expect(text).to.match(/CPU per request ÷ floor +2\.60 +2\.00 +≤ 2\.20 +worse/);
    expect(text).to.include(
      'CPU per request ÷ floor is 2.60, 30 % above the 2.00 recorded on 2026-11-24 (2 cores; noise: 10 %). ' +
        'If it has to be: RECORD=1 make bench-check',
    );
    expect(text.split('\n')).to.have.length(8);
  });

  it('says what became better, so that it is recorded', () => {
    expect(formatCheck({ ...FIGURES, cpuPerFrame: 1 }, BASELINE)).to.include(
      'CPU per frame ÷ floor is 1.00, 33 % below the 1.50',
    );
  });

  it('counts failed requests', () => {
    expect(formatCheck({ ...FIGURES, errors: 7 }, BASELINE)).to.include('7 requests to Berth failed');
  });
});

describe('a recording of the bench', () => {
  it('has the medians, and bands of twice the largest deviation', () => {
    const { figures, ...rest } = recordAll({ cpuPerRequest: 1.8 }, {}, { cpuPerRequest: 2.3 });
    expect(rest).to.deep.equal({ ...RECORDING, repeats: 3 });
    expect(figures.cpuPerRequest).to.deep.equal({ median: 2, band: 0.3 });
  });

  it('has bands of 10 % at least', () => {
    expect(recordAll({}, {}, { idleMiB: 81 }).figures.idleMiB).to.deep.equal({ median: 80, band: 0.1 });
  });

  it('is refused where requests failed, or a figure could not be measured', () => {
    expect(() => recordAll({}, { errors: 1 })).to.throw('requests failed');
    expect(() => recordAll({}, { addedLatency: Number.NaN })).to.throw('added latency p50 ÷ floor could not');
  });

  it('says where the machine was too busy for it', () => {
    expect(formatBaseline(recordAll({}, {}, { cpuPerFrame: 1.8 }))).to.include('record on a quiet machine');
    expect(formatBaseline(BASELINE)).not.to.include('quiet machine');
  });
});
