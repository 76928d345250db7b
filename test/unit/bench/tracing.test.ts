import { expect } from 'chai';
import type { Turn } from '../../bench/check/short-run.ts';
import { formatTracing } from '../../bench/check/tracing.ts';

const turn = (cpuPerRequestMicros: number, errors = 0): Turn => ({
  singleP50Ms: 0.2,
  cpuPerRequestMicros,
  cpuPerFrameMicros: 2,
  errors,
});

describe('the cost of traces', () => {
  const rounds = [
    { directP50Ms: 0.1, floor: turn(50), berth: turn(55) },
    // Something else took the machine's time.
    { directP50Ms: 0.1, floor: turn(100), berth: turn(110) },
    { directP50Ms: 0.1, floor: turn(50), berth: turn(56) },
  ];

  it('is the median of the ratios within rounds, beside the medians of both', () => {
    const [head, request, , latency] = formatTracing({ rounds }).split('\n');
    expect(head).to.match(/not traced +10 % sampled +ratio$/);
    expect(request).to.match(/^CPU per request, µs +50\.00 +56\.00 +1\.10$/);
    expect(latency).to.match(/ 200\.00 +200\.00 +1\.00$/);
  });

  it('says how many requests failed', () => {
    const failing = [{ ...rounds[0]!, berth: turn(55, 3) }];
    expect(formatTracing({ rounds: failing })).to.match(/\n3 requests failed$/);
  });
});
