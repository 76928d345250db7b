/** A route's response to a request, before anything is sent. */
import type { EngineError } from './errors.ts';
import type { PrefixCache } from './prefix-cache.ts';
import type { Inputs } from './tei.ts';

export interface Frame {
  /** Which token it comes with: all frames of a step go out together. */
  step: number;
  data: object;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** Absent without a prefix cache. */
  prompt_tokens_details?: { cached_tokens: number };
}

export interface Answer {
  /** Tokens of the longest choice: how long the work takes. */
  steps: number;
  usage: Usage;
  /** Its frames are named events, and no `[DONE]` ends them. */
  isNamed?: true;
  /** Set by an engine that counts them. */
  inputs?: Inputs;
  /** With the prompt, what a following prompt of the same conversation begins with. */
  conversation?: string;
  /** The whole answer of a call that is not streamed. */
  buildBody: () => object;
  /** An answer that is no JSON. */
  bytes?: { content: Buffer; headers: Record<string, string> };
  /** Null: the call is not streamed. */
  frames: (() => Iterable<Frame>) | null;
}

/** What an engine does in its own way while it plans an answer. */
export interface PlanHabits {
  /** For a prompt that leaves nothing of the context. If a prompt leaves less than the request's maximum, the answer is cut. */
  refuseLength(promptTokens: number, contextTokens: number): EngineError;
}

export interface PlanContext {
  model: string;
  /** Length of an answer in tokens; null: the prompt decides. */
  tokens: number | null;
  /** Forced calls of tools that are not strict break their schema. */
  looseTools: boolean;
  /** Most tokens of a prompt and its answer together. */
  contextTokens: number;
  /** Null: prompts are computed from their beginning. */
  cache: PrefixCache | null;
  /** The engine's, if it differs from the simulator. */
  habits: PlanHabits | null;
}

let calls = 0;
const run = Date.now().toString(16);

/** A unique response id. */
export const makeAnswerId = (prefix: string): string =>
  `${prefix}-${run}${(++calls).toString(16).padStart(8, '0')}`;

export const readUnixSeconds = (): number => Math.floor(Date.now() / 1000);

/** `cachedTokens`: of the prompt; null without a prefix cache. */
export const sumUsage = (
  promptTokens: number,
  completionTokens: number,
  cachedTokens: number | null = null,
): Usage => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  ...(cachedTokens !== null && { prompt_tokens_details: { cached_tokens: cachedTokens } }),
});

export const countCached = ({ prompt_tokens_details: details }: Usage): number => details?.cached_tokens ?? 0;
