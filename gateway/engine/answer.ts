/** Shared by both kinds of responses: whole, or as a stream. */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import type { ApiError } from '../http/error-response.ts';
import { readCount, sumCounts } from '../upstream/reported-count.ts';
import { BYTES_PER_TOKEN } from './token-estimate.ts';

/** Converts an engine's response of status 200 to the client's. */
export interface Answer {
  /** The head of the engine's response. */
  begin?(headers: IncomingHttpHeaders): void;
  /** Another engine responds from the start; nothing of what this one sent has passed. */
  restart?(): void;
  /** False: the client is slow, wait for `drain`. */
  write(chunk: Buffer): boolean;
  /** The engine's response is complete. Null, or its error; then nothing more may be written. A promise if it is large. May throw it. */
  end(): ApiError | null | Promise<ApiError | null>;
  /** The error in what was received so far; the engine's work is then aborted. */
  readonly failure: ApiError | null;
  /** The engine has sent its last data, whenever its connection may close. */
  readonly isComplete: boolean;
  readonly usage: TokenUsage | null;
  /** Estimated output tokens sent, for responses that end before or without usage; null: not charged by tokens. */
  readonly estimatedTokens: number | null;
}

/** A dialect's names of what it counts. */
interface UsageNames {
  /** Added up. */
  input: readonly string[];
  output: string;
  readCached(usage: JSONObject): unknown;
}

/** OpenAI's `usage`. */
export const readOpenAIUsage = (usage: unknown): TokenUsage | null =>
  readUsage(usage, {
    input: ['prompt_tokens'],
    output: 'completion_tokens',
    readCached: ({ prompt_tokens_details: details }) => isObject(details) && details.cached_tokens,
  });

/** Members of OpenAI's `usage`. */
export const describeOpenAIUsage = ({
  inputTokens,
  outputTokens,
  totalTokens,
  cachedInputTokens,
}: TokenUsage): JSONObject => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: totalTokens,
  prompt_tokens_details: { cached_tokens: cachedInputTokens },
});

/** The `usage` of OpenAI's Responses; its input includes cached tokens, its output reasoning. */
export const readResponsesUsage = (usage: unknown): TokenUsage | null =>
  readUsage(usage, {
    input: ['input_tokens'],
    output: 'output_tokens',
    readCached: ({ input_tokens_details: details }) => isObject(details) && details.cached_tokens,
  });

/** Anthropic's `usage`; its `input_tokens` exclude those read from or written to the cache. */
export const readMessagesUsage = (usage: unknown): TokenUsage | null =>
  readUsage(usage, {
    input: ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
    output: 'output_tokens',
    readCached: ({ cache_read_input_tokens: cached }) => cached,
  });

/** Null if it is missing, empty or has anything but counts, each of which may be missing: it is then estimated. */
function readUsage(usage: unknown, { input, output, readCached }: UsageNames): TokenUsage | null {
  if (!isObject(usage)) return null;
  const inputTokens = sumCounts(input.map((name) => usage[name] ?? 0));
  const outputTokens = readCount(usage[output] ?? 0);
  if (inputTokens === null || outputTokens === null) return null;
  const totalTokens = readCount(usage.total_tokens) || inputTokens + outputTokens;
  if (totalTokens === 0) return null;
  const cachedInputTokens = Math.min(readCount(readCached(usage)) ?? 0, inputTokens);
  return { inputTokens, outputTokens, totalTokens, cachedInputTokens };
}

/** Rounds up the counts of a usage, as they are charged: clients read whole numbers. Returns whether it changed any. */
export function roundUsage(usage: unknown): boolean {
  if (!isObject(usage)) return false;
  let isChanged = false;
  for (const [name, value] of Object.entries(usage)) {
    const count = name.endsWith('_tokens') ? readCount(value) : null;
    if (roundUsage(value)) isChanged = true;
    if (count === null || count === value) continue;
    usage[name] = count;
    isChanged = true;
  }
  return isChanged;
}

/** For responses that were interrupted before their usage, or have none. */
export function estimateUsage(promptBytes: number, outputTokens: number): TokenUsage {
  const inputTokens = Math.ceil(promptBytes / BYTES_PER_TOKEN);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, cachedInputTokens: 0 };
}
