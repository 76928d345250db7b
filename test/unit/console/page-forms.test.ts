/** Pure functions of the console's forms. */
import { expect } from 'chai';
import type { RequestDetail } from '../../../console/api.ts';
import { findExpiry, findFirstDate } from '../../../console/web/keys/expiry.ts';
import {
  describeSpan,
  formatAbout,
  formatDateTime,
  spellDuration,
} from '../../../console/web/parts/time-format.ts';
import { readEvents } from '../../../console/web/playground/event-stream.ts';
import { describeCost, describeSubmitter, formatReceipt } from '../../../console/web/requests/charge.ts';
import { describePlace } from '../../../console/web/requests/queue-place.ts';
import { makeRequest } from '../../console/support/answers.ts';

describe("the console's page", () => {
  const now = Date.parse('2026-02-27T12:00:00Z');

  for (const { choice, date = '', expected } of [
    { choice: 'never', expected: undefined },
    { choice: '30', expected: '2026-03-29T12:00:00.000Z' },
    { choice: '90', expected: '2026-05-28T12:00:00.000Z' },
    { choice: 'date', date: '2026-12-24', expected: new Date(2026, 11, 24).toISOString() },
  ])
    it(`lets a key end: ${choice} ${date}`, () => {
      expect(findExpiry(choice, date, now)).to.equal(expected);
    });

  it('offers tomorrow as the first date', () => {
    expect(findFirstDate(new Date(2026, 11, 31, 23).getTime())).to.equal('2027-01-01');
  });

  for (const [price, status, expected] of [
    ['0.04', 'queued', '0.04, refunded if it fails'],
    ['0.04', 'succeeded', '0.04'],
    ['0.04', 'failed', '0 (0.04 refunded)'],
    ['0.04', 'canceled', '0 (0.04 refunded)'],
    ['0', 'failed', 'Free'],
    [null, 'succeeded', '–'],
  ] as const)
    it(`words the cost ${price} of a request that is ${status} as ${expected}`, () => {
      expect(describeCost({ price, status })).to.equal(expected);
    });

  it('has a receipt of a request that ended, with what was refunded', () => {
    const request = {
      ...makeRequest('req_1', 'succeeded'),
      modality: 'image',
      submitter: { kind: 'key', name: 'shop', hint: null },
      price: '0.08',
      images: 2,
      queuedAt: '2026-02-27T12:00:00.000Z',
      startedAt: '2026-02-27T12:00:01.000Z',
      completedAt: '2026-02-27T12:00:03.000Z',
    } as RequestDetail;
    expect(JSON.parse(formatReceipt(request)!)).to.deep.equal({
      request_id: 'req_1',
      deployment: 'free-video',
      model: 'berth/free-video',
      status: 'succeeded',
      submitted_by: 'Key shop',
      cost: '0.08',
      refunded: '0',
      modality: 'image',
      images: 2,
      queued_at: '2026-02-27T12:00:00.000Z',
      started_at: '2026-02-27T12:00:01.000Z',
      completed_at: '2026-02-27T12:00:03.000Z',
    });
    expect(JSON.parse(formatReceipt({ ...request, status: 'failed' })!)).to.include({
      cost: '0',
      refunded: '0.08',
    });
    for (const open of [{ status: 'running' }, { price: null }] as const)
      expect(formatReceipt({ ...request, ...open })).to.equal(null);
  });

  it('words who submitted a request', () => {
    const key = { kind: 'key', name: 'shop' } as const;
    expect(describeSubmitter({ submitter: { ...key, hint: null } })).to.equal('Key shop');
    expect(describeSubmitter({ submitter: { ...key, hint: 'sk-berth-…x3a0' } })).to.equal(
      'Key shop (sk-berth-…x3a0)',
    );
    expect(describeSubmitter({ submitter: { kind: 'playground', name: 'anna' } })).to.equal(
      'anna (playground)',
    );
    expect(describeSubmitter({ submitter: null })).to.equal('–');
  });

  for (const [from, to, expected] of [
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:02.340Z', '2.3 s'],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:59.990Z', '1 min 0 s'],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:01:59.700Z', '2 min 0 s'],
    ['2026-01-01T00:00:00Z', '2026-01-01T01:02:03Z', '62 min 3 s'],
    ['2026-01-01T00:00:00Z', null, '–'],
    [null, '2026-01-01T00:00:00Z', '–'],
  ] as const)
    it(`says ${expected} for ${from} to ${to}`, () => {
      expect(describeSpan(from, to)).to.equal(expected);
    });

  for (const [text, expected] of [
    ['1s', '1 s'],
    ['1m30s', '1 min 30 s'],
    ['1h0m5s', '1 h 0 min 5 s'],
    ['250ms', '250 ms'],
  ] as const)
    it(`spells the duration ${text} as ${expected}`, () => {
      expect(spellDuration(text)).to.equal(expected);
    });

  for (const [ms, expected] of [
    [0, '1 s'],
    [89_000, '89 s'],
    [90_000, '2 min'],
    [5_399_000, '90 min'],
    [5_400_000, '2 h'],
  ] as const)
    it(`says about ${expected} for ${ms} ms`, () => {
      expect(formatAbout(ms)).to.equal(expected);
    });

  it('says where a queued request stands, and when it starts, as far as that is known', () => {
    const place = { position: 3, queued: 1_200, startsInMs: 150_000 };
    expect(describePlace(place)).to.equal('Position 3 of 1,200, starts in about 3 min');
    expect(describePlace({ ...place, startsInMs: null })).to.equal('Position 3 of 1,200');
    expect(describePlace({ ...place, position: null })).to.equal('1,200 requests are queued');
    expect(describePlace({ ...place, position: null, queued: 1 })).to.equal('1 request is queued');
  });

  it('shows dates as Americans do, and 24 hours a day', () => {
    expect(formatDateTime(new Date(2026, 10, 22, 17, 18, 9))).to.equal('Nov 22, 2026, 17:18:09');
  });

  for (const size of [1, 2, 7, 1000])
    it(`reads events that come ${size} bytes at a time`, async () => {
      const bytes = new TextEncoder().encode(
        ': a comment\r\ndata: {"a":"ü"}\r\n\r\ndata:two\n\ndata: [DONE]\n\n',
      );
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      });
      const events = [];
      for await (const data of readEvents(body)) events.push(data);
      expect(events).to.deep.equal(['{"a":"ü"}', 'two', '[DONE]']);
    });
});
