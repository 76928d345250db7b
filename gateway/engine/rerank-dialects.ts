/**
 * Reranking in the API of each engine. The endpoint's own is that of Jina, which most engines have; Text Embeddings
 * Inference and SGLang have others (decision 0171).
 */
import { type EngineTraits, traitsOf } from '../../api/engine-traits.ts';
import { isObject } from '../../kit/json.ts';
import { sumCounts } from '../upstream/reported-count.ts';
import { readOpenAIUsage } from './answer.ts';

/** Relevance of texts to a query. */
export interface RerankQuestion {
  query: string;
  texts: string[];
  topN: number;
  /** Whether input that is too long is truncated; absent: the engine's default. */
  truncate?: boolean | undefined;
}

/** As the engine returned it. */
export interface Rated {
  index: unknown;
  score: unknown;
}

/** How the engine's request is built and its response read. */
export interface RerankDialect {
  path: string;
  ask(question: RerankQuestion): object;
  /** Null for an invalid response. */
  read(answer: unknown): { rated: Rated[]; tokens: number | null } | null;
}

/** Dialect of vLLM, llama.cpp and the simulator. */
const JINA: RerankDialect = {
  path: '/v1/rerank',
  ask: ({ query, texts, topN }) => ({ query, documents: texts, top_n: topN }),
  read: (answer) =>
    isObject(answer) && Array.isArray(answer.results)
      ? {
          rated: answer.results.map((each) => readRated(each, 'relevance_score')),
          tokens: readOpenAIUsage(answer.usage)?.totalTokens ?? null,
        }
      : null,
};

const TEI: RerankDialect = {
  path: '/rerank',
  ask: ({ query, texts, truncate }) => ({ query, texts, ...(truncate !== undefined && { truncate }) }),
  read: (answer) =>
    Array.isArray(answer) ? { rated: answer.map((each) => readRated(each, 'score')), tokens: null } : null,
};

const SGLANG: RerankDialect = {
  path: '/v1/rerank',
  ask: ({ query, texts }) => ({ query, documents: texts }),
  read: (answer) =>
    Array.isArray(answer)
      ? {
          rated: answer.map((each) => readRated(each, 'score')),
          tokens: sumCounts(answer.map((each) => each?.meta_info?.prompt_tokens)) || null,
        }
      : null,
};

const DIALECTS: Readonly<Record<EngineTraits['rerankDialect'], RerankDialect>> = {
  jina: JINA,
  tei: TEI,
  sglang: SGLANG,
};
/** By the name of the engine preset. */
export const dialectOf = (preset: string): RerankDialect => DIALECTS[traitsOf(preset).rerankDialect];

const readRated = (each: unknown, name: string): Rated =>
  isObject(each) ? { index: each.index, score: each[name] } : { index: undefined, score: undefined };
