/** Rerank, score and tokens, for which each engine has its own API. */
import { readOpenAIUsage } from '../engine/answer.ts';
import { completeModel } from './answer-schema.ts';
import { readBodyMedia as readMedia } from './message-media.ts';
import { RERANK_FIELDS, translateRerank, translateRerankV2, translateScore } from './rerank.ts';
import type { TextRoute } from './text-route.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS, translateDetokenize, translateTokenize } from './tokens.ts';

export const RERANK: TextRoute = {
  path: '/v1/rerank',
  fields: RERANK_FIELDS,
  readMedia,
  translate: translateRerank,
  stream: null,
  complete: completeModel,
  readUsage: readOpenAIUsage,
  estimateOutput: () => 0,
};

export const RERANK_V2: TextRoute = {
  path: '/v2/rerank',
  fields: RERANK_FIELDS,
  readMedia,
  translate: translateRerankV2,
  stream: null,
  complete: completeModel,
  readUsage: readOpenAIUsage,
  estimateOutput: () => 0,
};

export const SCORE: TextRoute = {
  path: '/v1/score',
  // Checked with the engine's alternative names.
  fields: {},
  readMedia,
  translate: translateScore,
  stream: null,
  complete: completeModel,
  readUsage: readOpenAIUsage,
  estimateOutput: () => 0,
};

export const TOKENIZE: TextRoute = {
  path: '/tokenize',
  fields: TOKENIZE_FIELDS,
  readMedia,
  translate: translateTokenize,
  stream: null,
  complete: () => false,
  readUsage: readOpenAIUsage,
};

export const DETOKENIZE: TextRoute = {
  path: '/detokenize',
  fields: DETOKENIZE_FIELDS,
  readMedia,
  translate: translateDetokenize,
  stream: null,
  complete: () => false,
  readUsage: readOpenAIUsage,
};
