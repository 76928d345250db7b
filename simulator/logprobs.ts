/** Log probabilities in the shapes of chat and of the older completions; made up, but repeatable. */
import { createRandom, hashText, type Random } from './random.ts';
import { pickRival } from './text.ts';

interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[];
}

export interface ChatLogprobs {
  content: (TokenLogprob & { top_logprobs: TokenLogprob[] })[];
  refusal: null;
}

export interface CompletionLogprobs {
  text_offset: number[];
  token_logprobs: (number | null)[];
  tokens: string[];
  top_logprobs: (Record<string, number> | null)[];
}

export const describeChatTokens = (tokens: string[], top: number): ChatLogprobs => ({
  content: tokens.map((token) => {
    const ranked = rankTokens(token, Math.max(top, 1)).map(([text, logprob]) => ({
      token: text,
      logprob,
      bytes: [...Buffer.from(text)],
    }));
    return { ...ranked[0]!, top_logprobs: ranked.slice(0, top) };
  }),
  refusal: null,
});

export interface CompletionTokens {
  tokens: string[];
  top: number;
  /** Characters before the first token. */
  offset: number;
  /** The first token of an echoed prompt has nothing before it, so no probability. */
  isFirstOfPrompt: boolean;
}

export function describeCompletionTokens(part: CompletionTokens): CompletionLogprobs {
  const logprobs: CompletionLogprobs = {
    text_offset: [],
    token_logprobs: [],
    tokens: part.tokens,
    top_logprobs: [],
  };
  let offset = part.offset;
  for (const [index, token] of part.tokens.entries()) {
    const ranked = rankTokens(token, Math.max(part.top, 1));
    const isUnknown = part.isFirstOfPrompt && index === 0;
    logprobs.text_offset.push(offset);
    logprobs.token_logprobs.push(isUnknown ? null : ranked[0]![1]);
    logprobs.top_logprobs.push(isUnknown ? null : Object.fromEntries(ranked));
    offset += token.length;
  }
  return logprobs;
}

/** The token and its rivals, likeliest first, no token twice. */
function rankTokens(token: string, count: number): [string, number][] {
  const random = createRandom(hashText(token));
  const ranked: [string, number][] = [[token, lower(0, random)]];
  for (let offset = 1; ranked.length < count; offset++) {
    const rival = pickRival(token, offset);
    if (rival !== token) ranked.push([rival, lower(ranked.at(-1)![1], random)]);
  }
  return ranked;
}

const lower = (logprob: number, random: Random): number =>
  Math.round((logprob - 0.01 - random()) * 1e6) / 1e6;
