/** POST /v1/rerank, /rerank and /v1/score: texts that share words with the query lie ahead. */
import { type Answer, makeAnswerId, type PlanContext, readUnixSeconds, sumUsage } from './answer.ts';
import { refuse, refuseField, refuseRoute } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type Fields, readInteger } from './fields.ts';
import { hashText } from './random.ts';
import { checkBatch } from './tei.ts';
import { countTokens } from './text.ts';

const MAX_PAIRS = 2048;
/** Words beyond this are cut off, as an engine truncates a text. */
const MAX_WORDS = 8192;
/** How sure the model is of two texts with all words in common; without any it is as sure of the opposite. */
const STEEPNESS = 5;
/** Texts that share the same words still differ. */
const NOISE = 1;

export function planRerank(body: Fields, context: PlanContext, { engine }: Exchange): Answer {
  const query = readText(body.query, ['query']);
  const documents = readTexts(body, 'documents');
  const topN = readInteger(body, 'top_n', { min: 0, max: Number.MAX_SAFE_INTEGER }) || documents.length;
  const usage = sumUsage(countPairs(documents.map((document) => [query, document])), 0);
  const rank = () =>
    documents
      .map((text, index) => ({ index, text, score: scorePair(query, text) }))
      .sort((a, b) => b.score - a.score);
  if (engine.personality.rerankAnswer === 'list')
    return {
      steps: 1,
      usage,
      buildBody: () =>
        rank().map(({ index, text, score }) => ({
          score,
          document: text,
          index,
          meta_info: { prompt_tokens: countPairs([[query, text]]) },
        })),
      frames: null,
    };
  return {
    steps: 1,
    usage,
    buildBody: () => ({
      id: makeAnswerId('rerank'),
      model: context.model,
      usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens },
      results: rank()
        .slice(0, topN)
        .map(({ index, text, score }) => ({ index, document: { text }, relevance_score: score })),
    }),
    frames: null,
  };
}

/** TEI's own route. */
export function planRank(body: Fields, _context: unknown, { engine }: Exchange): Answer {
  if (engine.settings.current.like !== 'tei') throw refuseRoute(404);
  const { query, texts, return_text: withTexts } = body;
  if (typeof query !== 'string') throw refuseField(['query'], 'Field required');
  if (!Array.isArray(texts) || !texts.every((text): text is string => typeof text === 'string'))
    throw refuseField(['texts'], 'Input should be a list of strings');
  checkBatch(texts.length, engine.personality.bounds.inputs);
  const tokens = texts.reduce((sum, text) => sum + countTokens(query) + countTokens(text), 0);
  return {
    steps: 1,
    usage: sumUsage(tokens, 0),
    inputs: { count: texts.length, isBatch: true },
    buildBody: () =>
      texts
        .map((text, index) => ({ index, score: scorePair(query, text), ...(withTexts === true && { text }) }))
        .sort((a, b) => b.score - a.score),
    frames: null,
  };
}

export function planScore(body: Fields, context: PlanContext): Answer {
  const pairs = pairTexts(readEither(body, ['text_1', 'queries']), readEither(body, ['text_2', 'documents']));
  const usage = sumUsage(countPairs(pairs), 0);
  return {
    steps: 1,
    usage,
    buildBody: () => ({
      id: makeAnswerId('score'),
      object: 'list',
      created: readUnixSeconds(),
      model: context.model,
      data: pairs.map(([one, other], index) => ({ index, object: 'score', score: scorePair(one, other) })),
      usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens, completion_tokens: 0 },
    }),
    frames: null,
  };
}

type Pair = readonly [string, string];

const countPairs = (pairs: readonly Pair[]): number =>
  pairs.reduce((sum, [one, other]) => sum + countTokens(one) + countTokens(other), 0);

/** One with many, or each with its own. */
function pairTexts(ones: readonly string[], others: readonly string[]): Pair[] {
  if (ones.length === 1) return others.map((other) => [ones[0]!, other]);
  if (ones.length !== others.length)
    throw refuse(
      'Input lengths must be either 1:1, 1:N or N:N',
      ones.length > others.length ? 'text_1' : 'text_2',
    );
  return ones.map((one, index) => [one, others[index]!]);
}

/** From 0 to 1: the share of the query's words that the text has, through a sigmoid. */
export function scorePair(query: string, text: string): number {
  const wanted = new Set(splitWords(query));
  const there = new Set(splitWords(text));
  let shared = 0;
  for (const word of wanted) if (there.has(word)) shared++;
  const share = wanted.size === 0 ? 0 : shared / wanted.size;
  const noise = (hashText(text, hashText(query)) / 2 ** 32 - 0.5) * NOISE;
  return 1 / (1 + Math.exp(-(STEEPNESS * (2 * share - 1) + noise)));
}

const splitWords = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MAX_WORDS);

function readEither(body: Fields, names: readonly [string, string]): string[] {
  return readTexts(body, names.find((name) => body[name] != null) ?? names[0]);
}

/** One text, or up to `MAX_PAIRS`. */
function readTexts(body: Fields, name: string): string[] {
  const value = body[name] ?? undefined;
  if (value === undefined) throw refuseField([name], 'Field required');
  if (!Array.isArray(value)) return [readText(value, [name])];
  if (value.length === 0) throw refuse(`At least one text element must be provided for ${name}`, name);
  if (value.length > MAX_PAIRS)
    throw refuse(`${name} must hold at most ${MAX_PAIRS} entries, got ${value.length}.`, name);
  return value.map((entry, index) => readText(entry, [name, index]));
}

function readText(value: unknown, path: (string | number)[]): string {
  if (value === undefined || value === null) throw refuseField(path, 'Field required');
  if (typeof value !== 'string') throw refuseField(path, 'Input should be a valid string');
  return value;
}
