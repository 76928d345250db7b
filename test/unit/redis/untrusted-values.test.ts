import { expect } from 'chai';
import type { RedisClient } from '../../../redis/client.ts';
import { decodeCharge } from '../../../redis/requests/request-charge.ts';
import { decodeRecord } from '../../../redis/requests/request-record.ts';
import { parseCount, readCounter } from '../../../redis/untrusted-values.ts';

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

describe('a count that a workspace may have written', () => {
  it('is a whole number from 0 on', () => {
    expect(['0', '7', '9007199254740991'].map(parseCount)).to.deep.equal([0, 7, 9_007_199_254_740_991]);
  });

  for (const text of [
    '',
    '-1',
    '0.5',
    '1e3',
    '0x10',
    ' 7',
    'x',
    'NaN',
    'Infinity',
    '9'.repeat(16),
    '9'.repeat(400),
  ])
    it(`is none where it is "${text.slice(0, 25)}"`, () => {
      expect(parseCount(text)).to.equal(null);
      const charge = { api_key: 'a'.repeat(24), price: text.slice(0, 24), key_name: 'k', images: '1' };
      expect(decodeCharge(charge)).to.equal(null);
      const fields = {
        registration_id: text,
        progress: text,
        queued_at: text,
        started_at: text,
        completed_at: text,
      };
      expect(decodeRecord('req_1', { deployment: 'film', status: 'queued', ...fields }, '')).to.include({
        registrationId: 0,
        progress: 0,
        queuedAt: 0,
        startedAt: null,
        completedAt: null,
      });
    });
});
