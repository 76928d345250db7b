/**
 * Which of the endpoint's text routes an engine can answer. A deployment serves exactly these of its kind; routes for images
 * and videos are the gateway's own, by kind alone.
 */
import type { ModelKind } from './model-deployment.ts';
import type { EnginePreset } from './model-pod.ts';

export const ENGINE_ROUTES = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/score',
  '/tokenize',
  '/detokenize',
] as const;
export type EngineRoute = (typeof ENGINE_ROUTES)[number];

type Routes = readonly EngineRoute[];

const OPENAI: Routes = ['/v1/chat/completions', '/v1/completions'];
const TOKENS: Routes = ['/tokenize', '/detokenize'];
const ALL_DIALECTS: Routes = [
  ...OPENAI,
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  ...TOKENS,
];
const EMBEDDINGS: Routes = ['/v1/embeddings'];
const RERANK: Routes = ['/v1/rerank', '/v1/score'];

const ALL_TEXT = {
  LLM: ALL_DIALECTS,
  Embedding: [...EMBEDDINGS, ...TOKENS],
  Rerank: [...RERANK, ...TOKENS],
} as const;

/** By the versions that the presets pin (`operator/engines/`). */
const SPOKEN: Record<EnginePreset, Partial<Record<ModelKind, Routes>>> = {
  vllm: ALL_TEXT,
  sglang: ALL_TEXT,
  'llama-cpp': ALL_TEXT,
  simulator: ALL_TEXT,
  tei: { Embedding: ALL_TEXT.Embedding, Rerank: ALL_TEXT.Rerank },
  // Unknown, so what nearly every engine speaks; `spec.engine.routes` tells of more.
  custom: { LLM: OPENAI, Embedding: EMBEDDINGS, Rerank: ['/v1/rerank'] },
  'vllm-omni': {},
  'sglang-diffusion': {},
};

export const listEngineRoutes = (preset: EnginePreset, kind: ModelKind): Routes => SPOKEN[preset][kind] ?? [];
