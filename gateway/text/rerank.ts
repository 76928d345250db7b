/** Rerank and score; engines without a route that scores pairs use their rerank route. */
import { traitsOf } from '../../api/engine-traits.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { readOpenAIUsage } from '../engine/answer.ts';
import { type ExpectedResults, nameInput, readResults, refuse } from '../engine/input-results.ts';
import { dialectOf, type RerankQuestion } from '../engine/rerank-dialects.ts';
import { BYTES_PER_TOKEN } from '../engine/token-estimate.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { checkFields, type Fields, FLAG, TEXT } from './fields.ts';
import type { Translation } from './text-route.ts';

/** The most that the engines accept in one request. */
const MAX_TEXTS = 2048;

const isText = (value: unknown): value is string => typeof value === 'string';
const isDocument = (value: unknown): boolean => isText(value) || (isObject(value) && isText(value.text));
const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.length <= MAX_TEXTS && value.every(isItem);

const listOf = (items: object) => ({ type: 'array', items, minItems: 1, maxItems: MAX_TEXTS });
const text = TEXT.schema;

/** docs/api.md, "POST /v1/rerank" and the one that follows. */
export const RERANK_FIELDS: Fields = {
  query: { ...TEXT, isRequired: true },
  documents: {
    isRequired: true,
    allowed: `an array of 1 to ${MAX_TEXTS} strings, or of objects with a \`text\``,
    isValid: (value) => isListOf(value, isDocument),
    schema: listOf({ anyOf: [text, { type: 'object', properties: { text }, required: ['text'] }] }),
  },
  model: TEXT,
  top_n: {
    allowed: 'an integer of at least 1',
    isValid: (value) => Number.isInteger(value) && (value as number) >= 1,
    schema: { type: 'integer', minimum: 1 },
  },
  return_documents: FLAG,
};

const oneOrMore = {
  isRequired: true,
  allowed: `a string or an array of 1 to ${MAX_TEXTS} strings`,
  isValid: (value: unknown) => isText(value) || isListOf(value, isText),
  schema: { anyOf: [text, listOf(text)] },
} as const;

/** docs/api.md, "POST /v1/score". */
export const SCORE_FIELDS: Fields = { text_1: oneOrMore, text_2: oneOrMore, model: TEXT };

/** The response format: Jina's, or that of Cohere's API v2. */
interface Version {
  withTexts: boolean;
  /** Reported beside the results; `usage` is charged. */
  describe(tokens: number): JSONObject;
}

export const translateRerank = (value: JSONObject, preset: string): Translation =>
  askRanked(value, preset, {
    withTexts: value.return_documents !== false,
    describe: () => ({ object: 'list' }),
  });

export const translateRerankV2 = (value: JSONObject, preset: string): Translation =>
  askRanked(value, preset, {
    withTexts: value.return_documents === true,
    describe: (tokens) => ({ meta: { api_version: { version: '2' }, tokens: { input_tokens: tokens } } }),
  });

function askRanked(value: JSONObject, preset: string, { withTexts, describe }: Version): Translation {
  const texts = (value.documents as (string | { text: string })[]).map((each) =>
    isText(each) ? each : each.text,
  );
  const question = {
    query: value.query as string,
    texts,
    topN: Math.min((value.top_n as number | null | undefined) ?? texts.length, texts.length),
    truncate: typeof value.truncate === 'boolean' ? value.truncate : undefined,
  };
  const { path, ask, read } = dialectOf(preset);
  const estimate = estimateTokens(question);
  const { topN } = question;
  return {
    path,
    body: { ...passOn(value, RERANK_FIELDS), ...ask(question) },
    read: (answer) => {
      const found = read(answer);
      if (!found) return null;
      const rated = readScores(found.rated, { member: 'documents', count: texts.length, least: topN })
        .sort((a, b) => b.score - a.score)
        .slice(0, topN);
      const tokens = found.tokens ?? estimate;
      return {
        id: idOf(answer, 'rerank'),
        ...describe(tokens),
        usage: countUsage(tokens),
        // Not all engines return them.
        results: rated.map(({ index, score }) => ({
          index,
          relevance_score: score,
          ...(withTexts && { document: { text: texts[index] } }),
        })),
      };
    },
  };
}

/** vLLM's newer names of both sides. */
const ALIASES: readonly (readonly [string, readonly string[]])[] = [
  ['text_1', ['queries', 'data_1']],
  ['text_2', ['documents', 'items', 'data_2']],
];
const ALIAS_NAMES = ALIASES.flatMap(([, aliases]) => aliases);

/** Throws ApiError. */
export function translateScore(given: JSONObject, preset: string): Translation {
  const sides = ALIASES.map(([name, aliases]) => [
    name,
    given[name] ?? aliases.map((alias) => given[alias]).find((each) => each !== undefined),
  ]);
  const value: JSONObject = { ...given, ...Object.fromEntries(sides) };
  checkFields(value, SCORE_FIELDS);
  const ones = toList(value.text_1);
  const others = toList(value.text_2);
  if (ones.length !== 1 && ones.length !== others.length)
    throw refuseParameter(
      'invalid_value',
      'text_1',
      `\`text_1\` must be one text, or as many as \`text_2\`: it has ${ones.length}, \`text_2\` has ${others.length}.`,
    );
  const estimate = countTokens(ones, others);
  const expected = { member: 'text_2', count: others.length };
  if (traitsOf(preset).hasScoreRoute)
    return {
      path: '/v1/score',
      body: { ...passOn(given, SCORE_FIELDS, ALIAS_NAMES), text_1: value.text_1, text_2: value.text_2 },
      read: (answer) => {
        if (!isObject(answer) || !Array.isArray(answer.data)) return null;
        readScores(answer.data, expected);
        return { ...answer, usage: readOpenAIUsage(answer.usage) ? answer.usage : countUsage(estimate) };
      },
    };
  if (ones.length !== 1)
    throw refuseParameter(
      'unsupported_value',
      'text_1',
      `\`text_1\` must be one text: the engine of this deployment (${preset}) scores one text against others.`,
    );
  const { path, ask, read } = dialectOf(preset);
  const question = {
    query: ones[0]!,
    texts: others,
    topN: others.length,
    truncate: undefined,
  };
  return {
    path,
    body: { ...passOn(given, SCORE_FIELDS, ALIAS_NAMES), ...ask(question) },
    read: (answer) => {
      const found = read(answer);
      if (!found) return null;
      const rated = readScores(found.rated, expected);
      return {
        id: idOf(answer, 'score'),
        object: 'list',
        created: Math.floor(Date.now() / 1000),
        data: rated.map(({ index, score }) => ({ index, object: 'score', score })),
        usage: countUsage(found.tokens ?? estimate),
      };
    },
  };
}

/** In the order of the texts. Throws ApiError. */
function readScores(
  rated: readonly unknown[],
  expected: Pick<ExpectedResults, 'member' | 'count' | 'least'>,
): { index: number; score: number }[] {
  return readResults(rated, { what: 'score', ...expected }).map(({ index, score }) => {
    if (!Number.isFinite(score))
      throw refuse(`a score for ${nameInput(expected.member, index as number)} that is not a finite number`);
    return { index: index as number, score: score as number };
  });
}

/** Undocumented members are forwarded unchanged. */
const passOn = (value: JSONObject, fields: Fields, more: readonly string[] = []): JSONObject =>
  Object.fromEntries(
    Object.entries(value).filter(([name]) => !Object.hasOwn(fields, name) && !more.includes(name)),
  );

const toList = (value: unknown): string[] => (isText(value) ? [value] : (value as string[]));

const idOf = (answer: unknown, prefix: string): string =>
  isObject(answer) && isText(answer.id) ? answer.id : `${prefix}-${crypto.randomUUID().replaceAll('-', '')}`;

const countUsage = (tokens: number) => ({ prompt_tokens: tokens, total_tokens: tokens });

/** For engines that report no usage: each text is read together with the query. */
const estimateTokens = ({ query, texts }: RerankQuestion): number => countTokens([query], texts);

const countTokens = (ones: readonly string[], others: readonly string[]): number => {
  const bytes = (texts: readonly string[]) => texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
  const first = ones.length === 1 ? bytes(ones) * others.length : bytes(ones);
  return Math.ceil((first + bytes(others)) / BYTES_PER_TOKEN);
};
