/** What both ways to answer have in common: whole, or as a stream. */
import type { ApiError } from '../http/error-response.ts';

/** Takes an engine's answer of status 200 and makes the client's of it. */
export interface Answer {
  /** False: the client is slow, wait for `drain`. */
  write(chunk: Buffer): boolean;
  /** The engine's answer is complete. Null, or what is wrong with it; then nothing more may be written. */
  end(): ApiError | null;
  /** What is wrong with what came so far; the engine's work is then given up. */
  readonly failure: ApiError | null;
  /** The engine has said its last word, whenever its connection may end. */
  readonly isComplete: boolean;
  readonly usage: Usage | null;
  /** Pieces of output that went out, about a token each. */
  readonly frames: number;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

const count = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);

/** Reads OpenAI's `usage`; null when it is missing or says nothing. */
export function readUsage(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const inputTokens = count(usage.prompt_tokens);
  const outputTokens = count(usage.completion_tokens);
  const totalTokens = count(usage.total_tokens) || inputTokens + outputTokens;
  return totalTokens === 0 ? null : { inputTokens, outputTokens, totalTokens };
}

const BYTES_PER_TOKEN = 4;

/** For answers that broke off before their usage: a frame carries about a token. */
export function estimateUsage(promptBytes: number, outputTokens: number): Usage {
  const inputTokens = Math.ceil(promptBytes / BYTES_PER_TOKEN);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}
