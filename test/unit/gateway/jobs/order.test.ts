import { expect } from 'chai';
import type { MediaOrder } from '../../../../gateway/jobs/order.ts';
import { priceOrder } from '../../../../gateway/jobs/order.ts';

describe('the price of an order', () => {
  const pricing = {
    perImage: 20_000,
    perVideoSecond: 400_000,
    perMillionInputTokens: null,
    perMillionOutputTokens: null,
  };
  const image = (n: number) => ({ kind: 'image', parameters: { n } }) as MediaOrder;
  const video = (askedSeconds: number, fps = 24) =>
    ({ kind: 'video', askedSeconds, parameters: { fps } }) as unknown as MediaOrder;

  const PRICES: [what: string, order: MediaOrder, micros: number][] = [
    ['three images', image(3), 60_000],
    ['five seconds', video(5), 2_000_000],
    ['a part of a second', video(0.5), 200_000],
    ['less than the shortest clip, which has five frames', video(1e-7), 83_333],
    ['less than the shortest clip at one frame a second', video(0.01, 1), 2_000_000],
  ];
  for (const [what, order, micros] of PRICES)
    it(`is ${micros} millionths for ${what}`, () => {
      expect(priceOrder(order, { pricing })).to.equal(micros);
    });

  it('is nothing where none is set', () => {
    const free = { ...pricing, perImage: null, perVideoSecond: null };
    for (const order of [image(3), video(5)]) expect(priceOrder(order, { pricing: free })).to.equal(0);
  });
});
