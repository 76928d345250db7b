/** Charges what requests used: to their keys and workspaces, and to the deployment's usage and metrics. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import type { Bill, Payer, TokenUsage } from './account.ts';
import type { Settlements } from './settlements.ts';

interface LedgerOptions {
  config: () => GatewayConfig;
  settlements: Pick<Settlements, 'charge'>;
  usage: DeploymentUsage;
  metrics: Pick<GatewayMetrics, 'tokens' | 'cachedInputTokens' | 'audioSeconds' | 'speechCharacters'>;
}

const MILLION = 1_000_000;
const SECONDS_PER_MINUTE = 60;

export class Ledger {
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  chargeTokens(payer: Payer, used: TokenUsage): Bill {
    const { config, usage, metrics } = this.#options;
    const { inputTokens, cachedInputTokens, outputTokens, totalTokens } = used;
    metrics.tokens.add(inputTokens, 'input');
    metrics.tokens.add(outputTokens, 'output');
    usage.add('inputTokens', inputTokens);
    usage.add('outputTokens', outputTokens);
    if (cachedInputTokens > 0) metrics.cachedInputTokens.inc(cachedInputTokens);
    const micros = this.#charge(payer, priceTokens(used, config().pricing), totalTokens);
    return { usage: used, micros };
  }

  chargeAudio(payer: Payer, seconds: number): Bill {
    const { config, usage, metrics } = this.#options;
    metrics.audioSeconds.inc(seconds);
    usage.add('audioMilliseconds', Math.round(seconds * 1000));
    const price = ((config().pricing.perAudioMinute ?? 0) * seconds) / SECONDS_PER_MINUTE;
    return { usage: null, micros: this.#charge(payer, price) };
  }

  chargeSpeech(payer: Payer, characters: number): Bill {
    const { config, usage, metrics } = this.#options;
    metrics.speechCharacters.inc(characters);
    usage.add('characters', characters);
    const price = ((config().pricing.perMillionCharacters ?? 0) * characters) / MILLION;
    return { usage: null, micros: this.#charge(payer, price) };
  }

  #charge(payer: Payer, price: number, tokens = 0): number {
    const { config, settlements } = this.#options;
    const { keyHash, budgets } = payer;
    return settlements.charge({ keyHash, budgets, namespace: config().namespace, tokens, price });
  }
}

type TokenPricing = Pick<
  GatewayConfig['pricing'],
  'perMillionInputTokens' | 'perMillionOutputTokens' | 'perMillionCachedInputTokens'
>;

/** In millionths. Cached tokens cost the same as others unless they have their own price (decision 0151). */
export function priceTokens(usage: TokenUsage, pricing: TokenPricing): number {
  const input = pricing.perMillionInputTokens ?? 0;
  const cached = pricing.perMillionCachedInputTokens ?? input;
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  const sum =
    (inputTokens - cachedInputTokens) * input +
    cachedInputTokens * cached +
    outputTokens * (pricing.perMillionOutputTokens ?? 0);
  return sum / MILLION;
}
