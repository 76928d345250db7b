/** Shared by both kinds of responses: whole, or as a stream. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ApiError } from '../http/error-response.ts';
import { BYTES_PER_TOKEN } from './token-estimate.ts';

/** Converts an engine's response of status 200 to the client's. */
export interface Answer {
  /** The head of the engine's response. */
  begin?(headers: IncomingHttpHeaders): void;
  /** False: the client is slow, wait for `drain`. */
  write(chunk: Buffer): boolean;
  /** The engine's response is complete. Null, or its error; then nothing more may be written. */
  end(): ApiError | null;
  /** The error in what was received so far; the engine's work is then aborted. */
  readonly failure: ApiError | null;
  /** The engine has sent its last data, whenever its connection may close. */
  readonly isComplete: boolean;
  readonly usage: Usage | null;
  /** Estimated output tokens sent, for responses that end before or without usage; null: not charged by tokens. */
  readonly estimatedTokens: number | null;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** Input tokens that the engine had cached. */
  cachedInputTokens: number;
}

const count = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);

/** Reads OpenAI's `usage`; null if it is missing or empty. */
export function readOpenAIUsage(value: unknown): Usage | null {
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

/** Reads the `usage` of OpenAI's Responses; its input includes cached tokens, its output reasoning. */
export function readResponsesUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const details = usage.input_tokens_details as { cached_tokens?: unknown } | null | undefined;
  const inputTokens = count(usage.input_tokens);
  const cachedInputTokens = Math.min(count(details?.cached_tokens), inputTokens);
  return sumUsage({ inputTokens, cachedInputTokens, outputTokens: count(usage.output_tokens) });
}

/** Reads Anthropic's `usage`; its `input_tokens` exclude those read from or written to the cache. */
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

/** For responses that were interrupted before their usage, or have none. */
export function estimateUsage(promptBytes: number, outputTokens: number): Usage {
  const inputTokens = Math.ceil(promptBytes / BYTES_PER_TOKEN);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, cachedInputTokens: 0 };
}
