/**
 * Reranking in the words of each engine. The endpoint's own are those of Jina, which most engines speak; Text Embeddings
 * Inference and SGLang have others.
 */
import { isObject } from '../../kit/json.ts';
import { readUsage } from './answer.ts';

/** Which of the texts fit the query. */
export interface RerankQuestion {
  query: string;
  texts: string[];
  topN: number;
  /** Whether what is too long for the model is cut; absent: as the engine has it. */
  truncate?: boolean | undefined;
}

export interface Rated {
  index: number;
  score: number;
}

/** How an engine is asked that, and how its answer is read. */
export interface RerankDialect {
  path: string;
  ask(question: RerankQuestion): object;
  /** Null for what is no answer. */
  read(answer: unknown): { rated: Rated[]; tokens: number | null } | null;
}

/** Of vLLM, llama.cpp and the simulator. */
const JINA: RerankDialect = {
  path: '/v1/rerank',
  ask: ({ query, texts, topN }) => ({ query, documents: texts, top_n: topN }),
  read: (answer) =>
    isObject(answer) && Array.isArray(answer.results)
      ? {
          rated: answer.results.flatMap((each) => readRated(each, 'relevance_score')),
          tokens: readUsage(answer.usage)?.totalTokens ?? null,
        }
      : null,
};

const TEI: RerankDialect = {
  path: '/rerank',
  ask: ({ query, texts, truncate }) => ({ query, texts, ...(truncate !== undefined && { truncate }) }),
  read: (answer) =>
    Array.isArray(answer)
      ? { rated: answer.flatMap((each) => readRated(each, 'score')), tokens: null }
      : null,
};

const SGLANG: RerankDialect = {
  path: '/v1/rerank',
  ask: ({ query, texts }) => ({ query, documents: texts }),
  read: (answer) =>
    Array.isArray(answer)
      ? {
          rated: answer.flatMap((each) => readRated(each, 'score')),
          tokens:
            answer.reduce((sum, each) => sum + (Number(each?.meta_info?.prompt_tokens) || 0), 0) || null,
        }
      : null,
};

const DIALECTS: Readonly<Record<string, RerankDialect>> = { tei: TEI, sglang: SGLANG };
/** By the name of the engine preset. */
export const dialectOf = (preset: string): RerankDialect => DIALECTS[preset] ?? JINA;

function readRated(each: unknown, name: string): Rated[] {
  if (!isObject(each)) return [];
  const { index, [name]: score } = each;
  return Number.isInteger(index) && typeof score === 'number' ? [{ index: index as number, score }] : [];
}
