/**
 * Which of the endpoint's text routes an engine speaks by itself. The gateway translates no dialect into another, so a
 * deployment serves exactly these of its kind; routes for images and videos are the gateway's own, by kind alone.
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
] as const;
export type EngineRoute = (typeof ENGINE_ROUTES)[number];

type Routes = readonly EngineRoute[];

const OPENAI: Routes = ['/v1/chat/completions', '/v1/completions'];
const ALL_DIALECTS: Routes = [...OPENAI, '/v1/responses', '/v1/messages', '/v1/messages/count_tokens'];
const EMBEDDINGS: Routes = ['/v1/embeddings'];

/** By the versions that the presets pin (`operator/engines/`). */
const SPOKEN: Record<EnginePreset, Partial<Record<ModelKind, Routes>>> = {
  vllm: { LLM: ALL_DIALECTS, Embedding: EMBEDDINGS },
  sglang: { LLM: ALL_DIALECTS, Embedding: EMBEDDINGS },
  'llama-cpp': { LLM: ALL_DIALECTS, Embedding: EMBEDDINGS },
  simulator: { LLM: ALL_DIALECTS, Embedding: EMBEDDINGS },
  tei: { Embedding: EMBEDDINGS },
  // Unknown, so what nearly every engine speaks; `spec.engine.routes` tells of more.
  custom: { LLM: OPENAI, Embedding: EMBEDDINGS },
  'vllm-omni': {},
  'sglang-diffusion': {},
};

export const listEngineRoutes = (preset: EnginePreset, kind: ModelKind): Routes => SPOKEN[preset][kind] ?? [];
