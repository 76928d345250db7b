/**
 * llama.cpp's usage, which counts one choice, whatever `n` and however many prompts (seen with build 11669): of a whole response the
 * first one's; of a stream each one's, as it ends. Its answers have `timings`, of the same choice.
 */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { TokenUsage } from '../account/account.ts';
import { describeOpenAIUsage, readOpenAIUsage } from './answer.ts';
import { BYTES_PER_TOKEN, countWholeText } from './token-estimate.ts';

const countsOneChoice = ({ usage, timings }: JSONObject): boolean =>
  isObject(usage) && isObject(timings) && usage.completion_tokens === timings.predicted_n;

/** Counts all choices of a whole response, and prompts of these sizes. Returns whether it changed anything. */
export function completeChoiceUsage(answer: JSONObject, promptSizes: readonly number[]): boolean {
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length < 2 || !countsOneChoice(answer)) return false;
  const first = readOpenAIUsage(answer.usage);
  if (!first) return false;
  const inputTokens = scale(first.inputTokens, promptSizes);
  const outputTokens = countOutput(first.outputTokens, choices);
  const sum = { ...first, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
  answer.usage = { ...(answer.usage as JSONObject), ...describeOpenAIUsage(sum) };
  return true;
}

/** Choices that `max_tokens` cut have the same count; others are estimated by their text. */
function countOutput(tokens: number, choices: readonly unknown[]): number {
  const [first, ...others] = choices;
  const estimated = others.filter((choice) => !isCut(first) || !isCut(choice));
  const cut = tokens * (others.length - estimated.length);
  return cut + scale(tokens, [first, ...estimated].map(countWholeText));
}

const isCut = (choice: unknown): boolean => isObject(choice) && choice.finish_reason === 'length';

/** From the tokens of the first to those of all, by their sizes. */
function scale(tokens: number, [first = 0, ...others]: readonly number[]): number {
  const rest = others.reduce((sum, size) => sum + size, 0);
  return tokens + Math.ceil(first === 0 ? rest / BYTES_PER_TOKEN : (tokens * rest) / first);
}

/** Sizes of a request's prompts; none if there is one, as text or as tokens. */
export function listPromptSizes(prompts: unknown): number[] {
  if (!Array.isArray(prompts) || typeof prompts[0] === 'number') return [];
  return prompts.flatMap((prompt) =>
    typeof prompt === 'string' ? Buffer.byteLength(prompt) : Array.isArray(prompt) ? prompt.length : [],
  );
}

/** Adds up the usage of a stream's choices. */
export class ChoiceUsages {
  readonly #choicesPerPrompt: number;
  /** By the index of the choice. */
  readonly #usages = new Map<number, TokenUsage>();

  constructor(choicesPerPrompt: number) {
    this.#choicesPerPrompt = choicesPerPrompt;
  }

  get isEmpty(): boolean {
    return this.#usages.size === 0;
  }

  /** The sum of those so far, which replaces that of the frame; null if the frame has no usage of one choice. */
  add(frame: JSONObject): TokenUsage | null {
    const own = countsOneChoice(frame) ? readOpenAIUsage(frame.usage) : null;
    if (!own) return null;
    const [choice] = Array.isArray(frame.choices) ? frame.choices : [];
    // Chats report it in a frame without choices.
    const index = isObject(choice) && typeof choice.index === 'number' ? choice.index : this.#usages.size;
    this.#usages.set(index, own);
    return this.#usages.size === 1 ? own : this.#addUp();
  }

  #addUp(): TokenUsage {
    const sum = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    const prompts = new Set<number>();
    for (const [index, { inputTokens, outputTokens, cachedInputTokens }] of this.#usages) {
      sum.outputTokens += outputTokens;
      const prompt = Math.floor(index / this.#choicesPerPrompt);
      if (prompts.has(prompt)) continue;
      prompts.add(prompt);
      sum.inputTokens += inputTokens;
      sum.cachedInputTokens += cachedInputTokens;
    }
    return { ...sum, totalTokens: sum.inputTokens + sum.outputTokens };
  }
}
