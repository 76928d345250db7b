/** Tokens of a request, as the engine or our own count says. */

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
