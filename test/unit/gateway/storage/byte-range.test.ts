import { expect } from 'chai';
import { readRange } from '../../../../gateway/storage/byte-range.ts';

describe('a Range header for 100 bytes', () => {
  const cases: [string | undefined, ReturnType<typeof readRange>][] = [
    ['bytes=0-', { start: 0, end: 99 }],
    ['bytes=10-19', { start: 10, end: 19 }],
    ['bytes=99-99', { start: 99, end: 99 }],
    ['bytes=90-1000', { start: 90, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=20-10', null],
    ['bytes=0-1,5-6', null],
    ['bytes=-', null],
    ['bytes=a-b', null],
    ['items=0-1', null],
    [undefined, null],
  ];
  for (const [header, range] of cases)
    it(`reads ${header} as ${JSON.stringify(range)}`, () => {
      expect(readRange(header, 100)).to.deep.equal(range);
    });

  it('finds every range beyond an empty object', () => {
    expect(readRange('bytes=0-', 0)).to.equal('unsatisfiable');
    expect(readRange('bytes=-5', 0)).to.equal('unsatisfiable');
  });
});
