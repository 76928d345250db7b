import { expect } from 'chai';
import { countBroken } from '../../bench/aiperf/raw-records.ts';

const event = (value: object | string) => ({
  perf_ns: 1,
  packets: [{ name: 'data', value: typeof value === 'string' ? value : JSON.stringify(value) }],
});
const finish = (reason: string) => event({ choices: [{ delta: {}, finish_reason: reason }] });
const DONE = event('[DONE]');
const record = (...responses: object[]) => ({ status: 200, responses, error: null });
const write = (...records: object[]) => records.map((each) => `${JSON.stringify(each)}\n`).join('');

describe("aiperf's raw records", () => {
  it('tell of whole streams', () => {
    expect(countBroken(write(record(finish('stop'), DONE), record(finish('length'), DONE)))).to.equal(0);
  });

  for (const [what, broken] of [
    ['an error', record(event({ error: { message: 'x' } }), DONE)],
    ['an abort', record(finish('abort'), DONE)],
    ['no [DONE]', record(finish('stop'))],
    ['another status', { ...record(finish('stop'), DONE), status: 503 }],
    ['no response', { status: null, responses: [] }],
  ] as const)
    it(`tell of a stream that ends with ${what}`, () => {
      expect(countBroken(write(record(finish('stop'), DONE), broken))).to.equal(1);
    });
});
