/** What chat and completions share: how long an answer is, where it stops, how it streams. */
import type { PlanContext } from './answer.ts';
import { refuse, refuseField } from './errors.ts';
import { type Fields, readBoolean, readInteger, readNumber, readObject } from './fields.ts';
import { createRandom, hashText, pickInteger, type Random } from './random.ts';
import { generateTokens, splitTokens } from './text.ts';

export interface Sampling {
  n: number;
  seed: number;
  maxTokens: number;
  minTokens: number;
  ignoreEnd: boolean;
  stops: string[];
  isStreamed: boolean;
  withUsage: boolean;
  /** In every frame of a stream. */
  withContinuousUsage: boolean;
}

export interface Choice {
  tokens: string[];
  finish: 'stop' | 'length';
  /** The stop string that ended it. */
  stop?: string;
}

const MAX_CHOICES = 128;
const MAX_STOPS = 64;
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
/** What one call may make in all, so that no request can exhaust the memory. */
const MAX_TOKENS = 524_288;
const MAX_TOKENS_WITH_LOGPROBS = 16_384;
const NATURAL_LENGTH = { least: 16, most: 64 };

/** Reads the shared fields; `minLength` is what the least `max_tokens` may be. */
export function readSampling(fields: Fields, minLength: 0 | 1): Sampling {
  const isStreamed = readBoolean(fields, 'stream');
  const options = readObject(fields, 'stream_options');
  if (options && !isStreamed)
    throw refuse('Stream options can only be defined when `stream=True`.', 'stream_options');
  readNumber(fields, 'temperature', { min: 0, max: 2 });
  readNumber(fields, 'top_p', { min: 0, max: 1 });
  const range = { min: minLength, max: MAX_INTEGER };
  return {
    n: readInteger(fields, 'n', { min: 1, max: MAX_CHOICES }) ?? 1,
    seed: readInteger(fields, 'seed', { min: -MAX_INTEGER, max: MAX_INTEGER }) ?? 0,
    maxTokens:
      readInteger(fields, 'max_completion_tokens', range) ??
      readInteger(fields, 'max_tokens', range) ??
      Infinity,
    minTokens: readInteger(fields, 'min_tokens', { min: 0, max: MAX_INTEGER }) ?? 0,
    ignoreEnd: readBoolean(fields, 'ignore_eos'),
    stops: readStops(fields.stop),
    isStreamed,
    withUsage: options ? readBoolean(options, 'include_usage') : false,
    withContinuousUsage: options ? readBoolean(options, 'continuous_usage_stats') : false,
  };
}

function readStops(value: unknown): string[] {
  const stops = typeof value === 'string' ? [value] : (value ?? []);
  if (!Array.isArray(stops) || !stops.every((stop) => typeof stop === 'string'))
    throw refuseField(['stop'], 'Input should be a valid string or a list of strings');
  if (stops.length > MAX_STOPS) throw refuse(`stop must hold at most ${MAX_STOPS} entries.`, 'stop');
  return stops.filter((stop) => stop !== '');
}

/** Lowers `maxTokens` so that all choices together stay in bounds. */
export function boundSampling(sampling: Sampling, choices: number, withLogprobs: boolean): Sampling {
  const budget = Math.floor((withLogprobs ? MAX_TOKENS_WITH_LOGPROBS : MAX_TOKENS) / choices);
  return { ...sampling, maxTokens: Math.min(sampling.maxTokens, budget) };
}

/**
 * Refuses what does not fit into the context, in the simulator's own words or the engine's; without a limit of its own, the answer
 * takes what is left. An engine with habits of its own cuts it to that.
 */
export function fitContext(
  promptTokens: number,
  sampling: Sampling,
  { contextTokens, habits }: Pick<PlanContext, 'contextTokens' | 'habits'>,
): Sampling {
  const { maxTokens } = sampling;
  if (promptTokens >= contextTokens)
    throw (
      habits?.refuseLength(promptTokens, contextTokens) ??
      refuse(
        `This model's maximum context length is ${contextTokens} tokens. However, your request has ${promptTokens} input tokens. Please reduce the length of the input messages.`,
        'input_tokens',
      )
    );
  if (maxTokens === Infinity || promptTokens + maxTokens <= contextTokens) return sampling;
  if (habits) return { ...sampling, maxTokens: contextTokens - promptTokens };
  throw refuse(
    `'max_tokens' or 'max_completion_tokens' is too large: ${maxTokens}. This model's maximum context length is ${contextTokens} tokens and your request has ${promptTokens} input tokens (${maxTokens} > ${contextTokens} - ${promptTokens}).`,
    'max_tokens',
  );
}

/** The chance of one choice: the same prompt, seed and index give the same answer. */
export const createChoiceRandom = (promptHash: number, seed: number, index: number): Random =>
  createRandom(hashText(`${seed}/${index}`, promptHash));

/** An answer in words, `length` tokens long unless the request bounds it. */
export function generateProse(random: Random, sampling: Sampling, length: number | null): Choice {
  const natural = length ?? pickInteger(random, NATURAL_LENGTH.least, NATURAL_LENGTH.most);
  const wanted = sampling.ignoreEnd ? Infinity : Math.max(natural, sampling.minTokens);
  const made = Math.min(wanted, sampling.maxTokens);
  const tokens = generateTokens(random, Math.min(wanted, made + 1)).slice(0, made);
  return cutAtStop(tokens, wanted > made ? 'length' : 'stop', sampling.stops);
}

/**
 * What follows `said` in the answer that `generateProse` gives with the same chance and no bound; null where `said` is not how
 * it begins.
 */
export function continueProse(
  random: Random,
  sampling: Sampling,
  { said, length }: { said: string; length: number | null },
): Choice | null {
  // A token has a character at least.
  const maxTokens = Math.min(MAX_TOKENS, said.length + sampling.maxTokens);
  const whole = generateProse(random, { ...sampling, maxTokens, stops: [] }, length);
  if (!whole.tokens.join('').startsWith(said)) return null;
  const rest = dropCharacters(whole.tokens, said.length);
  const tokens = rest.slice(0, sampling.maxTokens);
  return cutAtStop(tokens, tokens.length < rest.length ? 'length' : whole.finish, sampling.stops);
}

function dropCharacters(tokens: readonly string[], count: number): string[] {
  let left = count;
  return tokens.flatMap((token) => {
    const rest = token.slice(left);
    left = Math.max(0, left - token.length);
    return rest === '' ? [] : [rest];
  });
}

/** A given answer (JSON), bounded by the request as any other. */
export function generateFixed(text: string, sampling: Sampling): Choice {
  const tokens = splitTokens(text);
  const kept = tokens.slice(0, sampling.maxTokens);
  return cutAtStop(kept, kept.length < tokens.length ? 'length' : 'stop', sampling.stops);
}

function cutAtStop(tokens: string[], finish: Choice['finish'], stops: string[]): Choice {
  if (stops.length === 0) return { tokens, finish };
  const text = tokens.join('');
  const found = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at);
  if (found.length === 0) return { tokens, finish };
  const [{ stop, at: end }] = found as [(typeof found)[number]];
  const kept: string[] = [];
  for (let index = 0, at = 0; at < end; index++) {
    const token = tokens[index]!;
    kept.push(token.slice(0, end - at));
    at += token.length;
  }
  return { tokens: kept, finish: 'stop', stop };
}
