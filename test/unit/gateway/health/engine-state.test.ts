import { expect } from 'chai';
import { EngineState } from '../../../../gateway/health/engine-state.ts';
import type { EngineVerdict } from '../../../../gateway/health/engine-verdict.ts';
import { checkTrace, listRecordedTraces, SITUATIONS } from '../../../support/health-traces/recorded-trace.ts';
import { readTrace } from '../../../support/health-traces/trace-lines.ts';
import { ENGINE_TRACES, type EngineTrace } from './engine-traces.ts';

const MINUTES_10 = 600;

describe('the judgment on an engine', () => {
  for (const trace of ENGINE_TRACES)
    it(`${trace.engine} ${trace.situation}`, () => {
      expect(readVerdicts(trace).filter(({ isRight }) => !isRight)).to.deep.equal([]);
    });

  it('goes by the output of a saturated vLLM: without it, neither its health nor its status lines would acquit it', () => {
    const trace = ENGINE_TRACES.find(({ situation }) =>
      situation.startsWith('has more requests than places'),
    )!;
    const lines = trace.lines.replaceAll(/^.* output .*$/gm, '');
    const wrong = readVerdicts({ ...trace, lines }).filter(({ isRight }) => !isRight);
    expect(wrong.map(({ words }) => words)).to.deep.include([
      'unhealthy',
      'unready',
      'dead',
      'kept',
      'trusted',
    ]);
    expect(wrong.some(({ line }) => line.includes('probe slow'))).to.equal(true);
    expect(wrong.some(({ line }) => line.includes('probe good'))).to.equal(true);
  });

  for (const trace of listRecordedTraces())
    it(`${trace.engine} ${trace.version} ${SITUATIONS[trace.situation]}, as recorded on ${trace.date}`, () => {
      checkTrace(trace);
    });

  it('says since when a phase lasts, and why', () => {
    const state = new EngineState(0);
    state.observe(1_000, { kind: 'probe', result: 'good' });
    expect(state.evaluate(1_000, 1e6)).to.include({ phase: 'healthy', since: 1_000, reason: '' });
    state.observe(9_000, { kind: 'probe', result: 'slow' });
    state.evaluate(9_000, 1e6);
    expect(state.evaluate(12_000, 1e6)).to.include({
      phase: 'busy',
      since: 9_000,
      reason: 'health check is slow',
    });
    state.observe(61_000, { kind: 'probe', result: 'slow' });
    expect(state.evaluate(61_000, 1e6).reason).to.equal('no response for 60 s');
  });

  it('gives up what an engine keeps behind a closed port once nothing comes of it, not while streams flow', () => {
    const state = new EngineState(0);
    const isDesertedAt = (at: number) => state.evaluate(at, 1e6).isDeserted;
    state.observe(1_000, { kind: 'probe', result: 'good' });
    state.observe(1_000, { kind: 'started', work: 1 });
    expect(isDesertedAt(60_000), 'silent only').to.equal(false);
    state.observe(60_000, { kind: 'refused' });
    state.observe(64_000, { kind: 'output', work: 1 });
    state.observe(66_000, { kind: 'refused' });
    expect([isDesertedAt(68_900), isDesertedAt(69_000)]).to.deep.equal([false, true]);
    state.observe(70_000, { kind: 'probe', result: 'slow' });
    expect(isDesertedAt(90_000), 'somebody listens again').to.equal(false);
  });

  describe('where the gateway can try the engine itself', () => {
    let state: EngineState;
    let at: number;
    const fail = (seconds: number) => {
      at += seconds * 1_000;
      state.observe(at, { kind: 'started', work: at });
      state.observe(at, { kind: 'answered' });
      state.observe(at, { kind: 'ended', work: at, outcome: 'fault' });
    };
    const evaluate = () => state.evaluate(at, 1e6);
    beforeEach(() => {
      at = 0;
      state = new EngineState(0, { needsProof: true });
      state.observe(0, { kind: 'probe', result: 'good' });
      for (let count = 0; count < 5; count++) fail(20);
    });

    it('only doubts one that answers 500 to requests which may be wrong', () => {
      expect(evaluate()).to.include({ phase: 'healthy', isAlive: true, isInDoubt: true });
      for (let count = 0; count < 50; count++) fail(20);
      expect(evaluate()).to.include({ phase: 'healthy', isAlive: true, isInDoubt: true });
    });

    it('trusts one that does what the gateway asks', () => {
      state.observe(at, { kind: 'tried', result: 'good' });
      expect(evaluate()).to.include({ phase: 'healthy', isInDoubt: false });
    });

    for (const result of ['fault', 'unknown'] as const)
      it(`condemns one where the trial is: ${result}`, () => {
        state.observe(at, { kind: 'tried', result });
        expect(evaluate()).to.include({ phase: 'unhealthy', isAlive: false, isInDoubt: false });
      });

    it('tries it again after a rest, and goes by that alone', () => {
      state.observe(at, { kind: 'tried', result: 'fault' });
      at += 31_000;
      expect(evaluate()).to.include({ phase: 'busy', isInDoubt: true });
      for (let count = 0; count < 9; count++) fail(1);
      expect(evaluate().phase).to.equal('busy');
      state.observe(at, { kind: 'tried', result: 'fault' });
      expect(evaluate()).to.include({ phase: 'unhealthy', isInDoubt: false });
      at += 31_000;
      state.observe(at, { kind: 'tried', result: 'good' });
      expect(evaluate()).to.include({ phase: 'healthy', isAlive: true });
    });

    it('goes by requests after the rest where nothing can be tried', () => {
      state.observe(at, { kind: 'tried', result: 'unknown' });
      at += 31_000;
      for (let count = 0; count < 2; count++) fail(1);
      state.observe(at, { kind: 'tried', result: 'unknown' });
      expect(evaluate().phase).to.equal('busy');
      fail(1);
      state.observe(at, { kind: 'tried', result: 'unknown' });
      expect(evaluate()).to.include({ phase: 'unhealthy', isAlive: false, isInDoubt: false });
    });
  });

  it('forgets what works waited for long ago', () => {
    const state = new EngineState(0);
    state.observe(0, { kind: 'probe', result: 'good' });
    for (const work of [1, 2, 3]) state.observe(0, { kind: 'started', work });
    for (const work of [1, 2, 3]) state.observe(90_000, { kind: 'ended', work, outcome: 'neutral' });
    expect(state.evaluate(190_001, 100_000).phase).to.equal('healthy');
    state.observe(190_001, { kind: 'started', work: 4 });
    expect(state.evaluate(210_000, 100_000).phase).to.equal('healthy');
  });
});

/** The verdicts at the lines that state an expected one. */
function readVerdicts({ stalled = MINUTES_10, works = 3, needsProof = false, lines }: EngineTrace) {
  const state = new EngineState(0, { stalledTasks: works, needsProof });
  return readTrace(lines.split('\n')).flatMap(({ at, seen, expected, line }) => {
    state.observe(at, seen!);
    const words = describeVerdict(state.evaluate(at, stalled * 1000));
    const isRight = expected.every((word) => words.includes(word));
    return expected.length > 0 ? [{ at: at / 1000, line, words, isRight }] : [];
  });
}

const describeVerdict = ({ phase, isReady, isAlive, isLost, isInDoubt }: EngineVerdict): string[] => [
  phase,
  isReady ? 'ready' : 'unready',
  isAlive ? 'alive' : 'dead',
  isLost ? 'lost' : 'kept',
  isInDoubt ? 'doubted' : 'trusted',
];
