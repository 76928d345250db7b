import { expect } from 'chai';
import { readPreferredWait } from '../../../../../gateway/front/demand/prefer.ts';

describe('Prefer: wait', () => {
  const cases: [string | string[] | undefined, number | null][] = [
    [undefined, null],
    ['', null],
    ['respond-async', null],
    ['wait=20', 20],
    ['respond-async, wait=0', 0],
    ['Wait = "15"; foo=bar', 15],
    [['handling=lenient', 'wait=3'], 3],
    ['wait=5, wait=9', 5],
    ['wait=-1', null],
    ['wait=1.5', null],
    ['await=5', null],
    ['wait=99999999999999999999', null],
  ];
  for (const [header, seconds] of cases)
    it(`of ${JSON.stringify(header)} is ${seconds}`, () => {
      expect(readPreferredWait(header)).to.equal(seconds);
    });
});
