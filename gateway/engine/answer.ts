/** What both ways to answer have in common: whole, or as a stream. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ApiError } from '../http/error-response.ts';
import { BYTES_PER_TOKEN } from './token-estimate.ts';

/** Takes an engine's answer of status 200 and makes the client's of it. */
export interface Answer {
  /** The head of the engine's answer. */
  begin?(headers: IncomingHttpHeaders): void;
  /** False: the client is slow, wait for `drain`. */
  write(chunk: Buffer): boolean;
  /** The engine's answer is complete. Null, or what is wrong with it; then nothing more may be written. */
  end(): ApiError | null;
  /** What is wrong with what came so far; the engine's work is then given up. */
  readonly failure: ApiError | null;
  /** The engine has said its last word, whenever its connection may end. */
  readonly isComplete: boolean;
  readonly usage: Usage | null;
  /** Of the output that went out, for answers that end before their usage or lack it; null: nothing is to be paid by tokens. */
  readonly estimatedTokens: number | null;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** Of the input, those that the engine had in its cache. */
  cachedInputTokens: number;
}

const count = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);

/** Reads OpenAI's `usage`; null when it is missing or says nothing. */
export function readUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const inputTokens = count(usage.prompt_tokens);
  const outputTokens = count(usage.completion_tokens);
  const totalTokens = count(usage.total_tokens) || inputTokens + outputTokens;
  if (totalTokens === 0) return null;
  const details = usage.prompt_tokens_details as { cached_tokens?: unknown } | null | undefined;
  const cachedInputTokens = Math.min(count(details?.cached_tokens), inputTokens);
  return { inputTokens, outputTokens, totalTokens, cachedInputTokens };
}

/** Reads the `usage` of OpenAI's Responses, whose input holds cached tokens and whose output reasoning. */
export function readResponsesUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const details = usage.input_tokens_details as { cached_tokens?: unknown } | null | undefined;
  const inputTokens = count(usage.input_tokens);
  const cachedInputTokens = Math.min(count(details?.cached_tokens), inputTokens);
  return sumUsage({ inputTokens, cachedInputTokens, outputTokens: count(usage.output_tokens) });
}

/** Reads Anthropic's `usage`, whose `input_tokens` are those alone that were neither in the cache nor put there. */
export function readMessagesUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const cachedInputTokens = count(usage.cache_read_input_tokens);
  const inputTokens =
    count(usage.input_tokens) + cachedInputTokens + count(usage.cache_creation_input_tokens);
  return sumUsage({ inputTokens, cachedInputTokens, outputTokens: count(usage.output_tokens) });
}

function sumUsage(usage: Omit<Usage, 'totalTokens'>): Usage | null {
  const totalTokens = usage.inputTokens + usage.outputTokens;
  return totalTokens === 0 ? null : { ...usage, totalTokens };
}

/** For answers that broke off before their usage, or have none. */
export function estimateUsage(promptBytes: number, outputTokens: number): Usage {
  const inputTokens = Math.ceil(promptBytes / BYTES_PER_TOKEN);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, cachedInputTokens: 0 };
}
