/**
 * Which of the endpoint's text routes an engine can serve. A deployment serves exactly these of its kind (decision 0164); routes for images
 * and videos are the gateway's own, and depend only on the kind.
 */
import type { EnginePreset, ModelKind } from './engine-presets.ts';

export const ENGINE_ROUTES = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/rerank',
  '/v2/rerank',
  '/v1/score',
  '/tokenize',
  '/detokenize',
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/audio/speech',
] as const;
export type EngineRoute = (typeof ENGINE_ROUTES)[number];

type Routes = readonly EngineRoute[];

const OPENAI: Routes = ['/v1/chat/completions', '/v1/completions'];
const TOKENS: Routes = ['/tokenize', '/detokenize'];
const ALL_DIALECTS: Routes = [
  ...OPENAI,
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/messages',
  '/v1/messages/count_tokens',
  ...TOKENS,
];
const EMBEDDINGS: Routes = ['/v1/embeddings'];
/** The second is Cohere's, for which the gateway uses the engine's first. */
const RERANK: Routes = ['/v1/rerank', '/v2/rerank'];
const RERANK_AND_SCORE: Routes = [...RERANK, '/v1/score'];

const AUDIO_TO_TEXT: Routes = ['/v1/audio/transcriptions', '/v1/audio/translations'];
const SPEECH: Routes = ['/v1/audio/speech'];

const ALL_TEXT = {
  LLM: ALL_DIALECTS,
  Embedding: [...EMBEDDINGS, ...TOKENS],
  Rerank: [...RERANK_AND_SCORE, ...TOKENS],
} as const;

/** By the versions that the presets pin (`operator/engines/`). */
const SPOKEN: Record<EnginePreset, Partial<Record<ModelKind, Routes>>> = {
  vllm: { ...ALL_TEXT, Transcription: AUDIO_TO_TEXT },
  sglang: { ...ALL_TEXT, Transcription: ['/v1/audio/transcriptions'] },
  'llama-cpp': ALL_TEXT,
  simulator: { ...ALL_TEXT, Transcription: AUDIO_TO_TEXT, Speech: SPEECH },
  tei: { Embedding: ALL_TEXT.Embedding, Rerank: ALL_TEXT.Rerank },
  // Unknown, so what nearly every engine supports; `spec.engine.routes` adds more.
  custom: {
    LLM: OPENAI,
    Embedding: EMBEDDINGS,
    Rerank: RERANK,
    Transcription: ['/v1/audio/transcriptions'],
    Speech: SPEECH,
  },
  'vllm-omni': { Speech: SPEECH },
  'sglang-diffusion': {},
};

export const listEngineRoutes = (preset: EnginePreset, kind: ModelKind): Routes => SPOKEN[preset][kind] ?? [];

/** Where engines serve routes that the gateway translates. */
const TRANSLATED: Readonly<Partial<Record<string, readonly string[]>>> = {
  '/v1/responses/input_tokens': ['/v1/messages/count_tokens'],
  '/v1/rerank': ['/rerank'],
  '/v2/rerank': ['/v1/rerank', '/rerank'],
  '/v1/score': ['/v1/rerank', '/rerank'],
  '/detokenize': ['/decode'],
};

/** Paths of an engine that requests to these routes of the endpoint lead to. */
export const listEnginePaths = (routes: readonly string[]): string[] =>
  routes.flatMap((route) => [route, ...(TRANSLATED[route] ?? [])]);
