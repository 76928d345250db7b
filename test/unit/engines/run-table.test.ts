import { expect } from 'chai';
import { readMeasures } from '../../engines/measures.ts';
import { replaceRow } from '../../engines/run-table.ts';

const RUN = {
  engine: 'vllm',
  version: '0.28.0',
  passed: 61,
  minutes: 4.25,
  measures: ['added latency: 1.5 ms to 40.0 ms'],
  date: new Date('2026-11-22T20:00:00Z'),
};

describe('the table of engines', () => {
  it('has the last run of an engine in its row, and leaves the others', () => {
    const document =
      'a\n| `vllm` | 0.27.0 | by its source | | |\n| `vllm-omni` | 0.27.0 | by its source | | |\n';
    expect(replaceRow(document, RUN).split('\n')).to.deep.equal([
      'a',
      '| `vllm` | 0.28.0 | run, on a CPU | 61 tests in 4.3 min; added latency: 1.5 ms to 40.0 ms | 2026-11-22 |',
      '| `vllm-omni` | 0.27.0 | by its source | | |',
      '',
    ]);
  });

  it('needs a row to write to', () => {
    expect(() => replaceRow('nothing', RUN)).to.throw('docs/engines.md has no row for vllm');
  });

  it('reads the measures among the output of the tests', () => {
    expect(readMeasures('  ✔ frees\n      measured freed: 0.10 s\n')).to.deep.equal(['freed: 0.10 s']);
  });
});
