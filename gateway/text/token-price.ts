/** What the tokens of a request cost. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Usage } from '../engine/answer.ts';

type TokenPricing = Pick<
  GatewayConfig['pricing'],
  'perMillionInputTokens' | 'perMillionOutputTokens' | 'perMillionCachedInputTokens'
>;

const MILLION = 1_000_000;

/** In millionths. Cached tokens cost as others where they have no price of their own. */
export function priceTokens(usage: Usage, pricing: TokenPricing): number {
  const input = pricing.perMillionInputTokens ?? 0;
  const cached = pricing.perMillionCachedInputTokens ?? input;
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  const sum =
    (inputTokens - cachedInputTokens) * input +
    cachedInputTokens * cached +
    outputTokens * (pricing.perMillionOutputTokens ?? 0);
  return sum / MILLION;
}
