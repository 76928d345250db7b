/** Text that reads as sentences, made token by token; and the count of tokens in any text. */
import { pickInteger, pickOne, type Random } from './random.ts';

const WORDS = (
  'the a of and to in is that it for as with on by this from at which one each more about when there can ' +
  'time light water river stone garden morning window letter paper music color machine signal harbor ' +
  'engine memory answer question number pattern system model token little large quiet bright early simple ' +
  'careful common steady clear warm small several every many some other first second next last new old ' +
  'makes takes gives shows finds keeps turns moves grows holds follows carries opens reads writes counts ' +
  'because while before after between under over through around together often always never perhaps only ' +
  'almost again still then here city forest mountain winter summer story teacher student market road bridge'
).split(' ');

const CHARACTERS_PER_TOKEN = 4;

/** Exactly `count` tokens; a full stop, too, is a token of its own. */
export function generateTokens(random: Random, count: number): string[] {
  const tokens: string[] = [];
  let left = 0;
  while (tokens.length < count) {
    if (left === 0) {
      const word = pickOne(random, WORDS);
      tokens.push(`${tokens.length === 0 ? '' : ' '}${word[0]!.toUpperCase()}${word.slice(1)}`);
      left = pickInteger(random, 6, 14);
    } else if (--left === 0 || tokens.length === count - 1) {
      tokens.push('.');
      left = 0;
    } else tokens.push(` ${pickOne(random, WORDS)}`);
  }
  return tokens;
}

/** A few words without a full stop: values of generated JSON. */
export const generatePhrase = (random: Random, words: number): string =>
  Array.from({ length: words }, () => pickOne(random, WORDS)).join(' ');

/** A word for a token id, so that a prompt of token ids is a text too. */
export const decodeTokens = (ids: readonly number[]): string =>
  ids.map((id) => WORDS[id % WORDS.length]!).join(' ');

/** The word that stands `offset` places after a token in the vocabulary: its rivals in `top_logprobs`. */
export const pickRival = (token: string, offset: number): string =>
  ` ${WORDS[(token.length * 7 + token.charCodeAt(0) + offset) % WORDS.length]!}`;

export const countTokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** Pieces of four characters that never break a surrogate pair. */
export const splitTokens = (text: string): string[] => text.match(/[\s\S]{1,4}/gu) ?? [];
