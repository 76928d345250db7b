/** What a GPU shows of a model that embeds texts, or ranks them. */
import { type Checks, failed, judge, type Model, type Outcome, post, requireOk } from './endpoint.ts';
import { measureRates } from './rates.ts';

const QUERY = 'When do ships come into the harbor?';
const FITTING = 'Ships come into the harbor at dawn.';
const STRANGE = 'Bread is baked in the oven of a village.';
/** Per request: more than an engine computes at once, and than TEI accepts by default. */
const MANY = 100;
const AT_ONCE = 16;
const TOO_LONG = 'harbor '.repeat(200_000);
/** Rounding differs by what is computed at once. */
const SAME = 0.99;

async function ask<T>(path: string, body: object): Promise<T> {
  return (await (await requireOk(await post(path, body))).json()) as T;
}

async function embed(input: string | string[]): Promise<number[][]> {
  const { data } = await ask<{ data: { index: number; embedding: number[] }[] }>('/embeddings', { input });
  return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
}

function compare(one: number[], other: number[]): number {
  const dot = (a: number[], b: number[]) => a.reduce((sum, value, index) => sum + value * b[index]!, 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

const formatNumber = (value: number): string => value.toFixed(3);

async function checkMeaning(): Promise<Outcome> {
  const [query, fitting, strange] = await embed([QUERY, FITTING, STRANGE]);
  const [near, far] = [compare(query!, fitting!), compare(query!, strange!)];
  return judge(
    near > far,
    `${query!.length} numbers; ${formatNumber(near)} to what fits, ${formatNumber(far)} to another`,
  );
}

const listMany = (): string[] =>
  Array.from({ length: MANY }, (_, index) => `${STRANGE} It is house ${index} of ${MANY}.`);

async function checkManyTexts(): Promise<Outcome> {
  const texts = listMany().with(MANY / 2, FITTING);
  const [vectors, [alone]] = await Promise.all([embed(texts), embed(FITTING)]);
  const similarity = vectors.length === MANY ? compare(vectors[MANY / 2]!, alone!) : 0;
  return judge(
    similarity > SAME,
    `${vectors.length} vectors; ${formatNumber(similarity)} to that of the text alone`,
  );
}

interface Ranked {
  index: number;
  relevance_score: number;
}

async function rank(documents: string[], path = '/rerank'): Promise<Ranked[]> {
  const { results } = await ask<{ results: Ranked[] }>(path, { query: QUERY, documents });
  return results;
}

async function checkRanking({ routes }: Model): Promise<Outcome> {
  const documents = [STRANGE, FITTING, 'The moon has no air.'];
  const results = await rank(documents);
  const first = [results[0]!.index];
  if (routes.includes('/v2/rerank')) first.push((await rank(documents, '/../v2/rerank'))[0]!.index);
  if (routes.includes('/v1/score')) {
    const body = { text_1: QUERY, text_2: documents };
    const { data } = await ask<{ data: { index: number; score: number }[] }>('/score', body);
    first.push(data.toSorted((a, b) => b.score - a.score)[0]!.index);
  }
  const scores = results.map(({ relevance_score: score }) => formatNumber(score)).join(', ');
  const isFirst = first.every((index) => documents[index] === FITTING);
  return judge(isFirst, `scores ${scores}; first of ${first.length} routes: ${first.join(', ')}`);
}

async function checkManyDocuments(): Promise<Outcome> {
  const results = await rank(listMany().with(MANY / 2, FITTING));
  return judge(
    results.length === MANY && results[0]!.index === MANY / 2,
    `${results.length} results, number ${results[0]?.index} first`,
  );
}

/** Some engines cut off what is too long, and others refuse it: neither may cost the engine. */
async function checkTooLong(path: string, body: object, serve: () => Promise<unknown>): Promise<Outcome> {
  const response = await post(path, body);
  if (response.status === 429) await requireOk(response);
  await response.arrayBuffer();
  await serve().catch((error: Error) => {
    throw new Error(`after ${response.status}: ${error.message}`);
  });
  const detail = `${response.status}, and the next one is served`;
  return response.status < 500 ? judge(true, detail) : failed(detail);
}

const texts = listMany().slice(0, AT_ONCE);

export const EMBEDDING_CHECKS: Checks = {
  'texts that fit are closer to each other': checkMeaning,
  'many texts at once have the vectors that they have alone': checkManyTexts,
  'a text that is far too long harms nobody': () =>
    checkTooLong('/embeddings', { input: TOO_LONG }, () => embed(FITTING)),
  speed: () => measureRates('texts', async () => (await embed(texts)).length),
};

export const RERANK_CHECKS: Checks = {
  'the text that fits comes first': checkRanking,
  'it comes first of many, too': checkManyDocuments,
  'a text that is far too long harms nobody': () =>
    checkTooLong('/rerank', { query: QUERY, documents: [TOO_LONG] }, () => rank([FITTING])),
  speed: () => measureRates('texts', async () => (await rank(texts)).length),
};

export const embedOne = (): Promise<unknown> => embed(FITTING);
export const rankOne = (): Promise<unknown> => rank([FITTING]);
