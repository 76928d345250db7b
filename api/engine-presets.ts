/** Which engines serve which kinds of models; without a library, for pages too. */

export const ENGINE_PRESETS = [
  'vllm',
  'sglang',
  'vllm-omni',
  'sglang-diffusion',
  'tei',
  'llama-cpp',
  'simulator',
  'custom',
] as const;
export type EnginePreset = (typeof ENGINE_PRESETS)[number];

export const MODEL_KINDS = [
  'LLM',
  'Embedding',
  'Rerank',
  'Image',
  'Video',
  'Transcription',
  'Speech',
] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

const MEDIA_PRESETS = ['vllm-omni', 'sglang-diffusion', 'simulator', 'custom'] as const;
/** Engines of images and videos. */
export type MediaPreset = (typeof MEDIA_PRESETS)[number];

/** The engines that serve a kind. */
export const PRESETS_BY_KIND: Record<ModelKind, readonly EnginePreset[]> = {
  LLM: ['vllm', 'sglang', 'llama-cpp', 'simulator', 'custom'],
  Embedding: ['vllm', 'sglang', 'tei', 'llama-cpp', 'simulator', 'custom'],
  Rerank: ['vllm', 'sglang', 'tei', 'llama-cpp', 'simulator', 'custom'],
  Image: MEDIA_PRESETS,
  Video: MEDIA_PRESETS,
  Transcription: ['vllm', 'sglang', 'simulator', 'custom'],
  Speech: ['vllm-omni', 'simulator', 'custom'],
};
