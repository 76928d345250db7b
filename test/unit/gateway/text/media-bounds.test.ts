import { expect } from 'chai';
import type { Allowance } from '../../../../gateway/egress/allowance.ts';
import { inlineMedia, type MediaReference } from '../../../../gateway/text/media-inlining.ts';
import { rejection } from '../../../support/redis-client.ts';

const inTurn = <T>(work: () => T) => work();

describe('the media of a request that are given by URL', () => {
  const bounds = { image: 10, audio: 4, video: 2 } as const;
  const asked: { deadlineMs: number; allowance: Allowance }[] = [];

  /** Whether they were accepted, and fetched. */
  async function isFetched(kind: keyof typeof bounds, count: number): Promise<boolean> {
    let calls = 0;
    const agent = {
      request: async (request: (typeof asked)[number]) => {
        calls++;
        asked.push(request);
        throw new Error('fetched');
      },
    };
    const media: MediaReference[] = Array.from({ length: count }, (_, i) => ({
      kind,
      path: ['messages', 0, 'content', i],
      url: 'https://media.example.com/',
    }));
    const exchange = { signal: new AbortController().signal, check: () => {} };
    const options = { agent, exchange, maxBytes: 2 ** 40, reserve: () => true, inTurn };
    type Options = Parameters<typeof inlineMedia>[1];
    const error = await rejection(
      inlineMedia({ payload: Buffer.from('{}'), media }, options as unknown as Options),
    );
    if (calls === 0) expect(error).to.include({ code: 'array_above_max_length', status: 400 });
    return calls > 0;
  }

  for (const [kind, most] of Object.entries(bounds) as [keyof typeof bounds, number][])
    it(`are at most ${most} of kind ${kind}, and none is fetched where there are more`, async () => {
      expect(await isFetched(kind, most)).to.equal(true);
      expect(await isFetched(kind, most + 1)).to.equal(false);
    });

  for (const [kind, mebibytes, seconds] of [
    ['image', 50, 5],
    ['audio', 50, 10],
    ['video', 100, 20],
  ] as const)
    it(`are at most ${mebibytes} MiB each of kind ${kind}, within ${seconds} s`, async () => {
      await isFetched(kind, 1);
      const { allowance, deadlineMs } = asked.at(-1)!;
      expect(deadlineMs).to.be.within(seconds * 1_000 - 500, seconds * 1_000);
      expect(allowance.left).to.equal(mebibytes * 1024 * 1024);
    });

  it('take memory twice over while they are put into the request, and get 503 where there is none', async () => {
    const BYTES = 1_000;
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(BYTES - 8)]);
    const agent = {
      request: async ({ allowance }: { allowance: Allowance }) => ({
        ...{ status: 200, headers: {}, body: png },
        isTruncated: !allowance.take(BYTES),
      }),
    };
    const inline = (room: number) => {
      let left = room;
      const reserve = (bytes: number) => {
        left -= bytes;
        return left >= 0;
      };
      const exchange = { signal: new AbortController().signal, check: () => {} };
      const media: MediaReference[] = [{ kind: 'image', path: ['url'], url: 'https://media.example.com/' }];
      const options = { agent, exchange, maxBytes: 2 ** 40, reserve, inTurn };
      type Options = Parameters<typeof inlineMedia>[1];
      return inlineMedia({ payload: Buffer.from('{"url":""}'), media }, options as unknown as Options);
    };
    expect(String(await inline(2 * BYTES))).to.contain('data:image/png;base64,');
    const error = await rejection(inline(2 * BYTES - 1));
    expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
    expect(error).to.have.nested.property('details.retryAfter', 5);
  });
});
