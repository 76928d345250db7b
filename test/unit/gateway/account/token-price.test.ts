import { expect } from 'chai';
import { priceTokens } from '../../../../gateway/account/ledger.ts';
import { readOpenAIUsage } from '../../../../gateway/engine/answer.ts';

describe('the price of tokens', () => {
  const usage = (cached?: unknown) =>
    readOpenAIUsage({
      prompt_tokens: 1_000,
      completion_tokens: 100,
      total_tokens: 1_100,
      ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    })!;
  const prices = { perMillionInputTokens: 2_000_000, perMillionOutputTokens: 10_000_000 };
  const cases: [what: string, cached: unknown, cachedPrice: number | null | undefined, micros: number][] = [
    ['without cached ones', undefined, 500_000, 3_000],
    ['of which some were cached', 800, 500_000, 1_800],
    ['of which some were cached, for free', 800, 0, 1_400],
    ['of which some were cached, without a price of their own', 800, null, 3_000],
    ['of an older configuration', 800, undefined, 3_000],
    ['of which more were cached than there are', 5_000, 500_000, 1_500],
    ['whose cached ones are no number', '800', 500_000, 3_000],
  ];
  for (const [what, cached, perMillionCachedInputTokens, micros] of cases)
    it(what, () => {
      expect(priceTokens(usage(cached), { ...prices, perMillionCachedInputTokens })).to.equal(micros);
    });

  it('is nothing where nothing has a price', () => {
    const free = { perMillionInputTokens: null, perMillionOutputTokens: null };
    expect(priceTokens(usage(10), free)).to.equal(0);
  });
});
