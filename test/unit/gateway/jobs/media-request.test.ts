import { expect } from 'chai';
import { type MediaRequest, priceRequest } from '../../../../gateway/jobs/media-request.ts';

describe('the price of an order', () => {
  const pricing = {
    perImage: 20_000,
    perVideoSecond: 400_000,
    perMillionInputTokens: null,
    perMillionOutputTokens: null,
  };
  const image = (n: number) => ({ kind: 'image', parameters: { n } }) as MediaRequest;
  const video = (askedSeconds: number, fps = 24) =>
    ({ kind: 'video', askedSeconds, parameters: { fps } }) as unknown as MediaRequest;

  const PRICES: [what: string, request: MediaRequest, micros: number][] = [
    ['three images', image(3), 60_000],
    ['five seconds', video(5), 2_000_000],
    ['a part of a second', video(0.5), 200_000],
    ['less than the shortest clip, which has five frames', video(1e-7), 83_333],
    ['less than the shortest clip at one frame a second', video(0.01, 1), 2_000_000],
  ];
  for (const [what, request, micros] of PRICES)
    it(`is ${micros} millionths for ${what}`, () => {
      expect(priceRequest(request, { pricing })).to.equal(micros);
    });

  it('is nothing where none is set', () => {
    const free = { ...pricing, perImage: null, perVideoSecond: null };
    for (const request of [image(3), video(5)]) expect(priceRequest(request, { pricing: free })).to.equal(0);
  });
});
