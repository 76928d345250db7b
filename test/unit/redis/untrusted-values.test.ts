import { expect } from 'chai';
import type { RedisClient } from '../../../redis/client.ts';
import { readCounter } from '../../../redis/untrusted-values.ts';

describe('a counter of a workspace', () => {
  const read = (text: string) => {
    const redis = { getrange: async (_: string, start: number, end: number) => text.slice(start, end + 1) };
    return readCounter(redis as unknown as RedisClient, 'key');
  };

  it('is a whole number', async () => {
    expect(await read('9007199254740991')).to.equal(9_007_199_254_740_991);
    expect(await read('')).to.equal(0);
  });

  for (const text of ['9'.repeat(20), '1'.repeat(900_000), '1e400', '0.5', '1e3', '0x10', ' 7', 'x', 'NaN'])
    it(`counts as 0 where it is ${text.slice(0, 25)}`, async () => {
      expect(await read(text)).to.equal(0);
    });

  it('has no more read of it than 20 digits', async () => {
    expect(await read(`${'0'.repeat(19)}7x`)).to.equal(7);
  });
});
