/** llama.cpp: GGUF models, also without a GPU. */
import type { ModelKind } from '../../api/engine-presets.ts';
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  type ImageVendor,
  type ModelLocation,
} from './engine.ts';

const IMAGE = 'ghcr.io/ggml-org/llama.cpp';
const BUILD = 'b11382';
const VARIANTS: Record<ImageVendor, string> = { nvidia: 'cuda-', amd: 'rocm-', none: '' };

/**
 * An embedding input, or a query with its text, has to fit into one physical batch, which holds 512 tokens by default: set to as many as OpenAI accepts,
 * or less if the model's context is smaller.
 */
const BATCH = '8192';
const BATCH_ARGS = ['--batch-size', BATCH, '--ubatch-size', BATCH];
const KIND_ARGS: Partial<Record<ModelKind, string[]>> = {
  Embedding: ['--embeddings', ...BATCH_ARGS],
  Rerank: ['--reranking', ...BATCH_ARGS],
};

export const llamaCpp: EnginePresetDefinition = {
  image: (vendor) => `${IMAGE}:server-${VARIANTS[vendor]}${BUILD}`,
  gpus: 0,
  uid: 2000,
  requests: { cpu: '100m', memory: '256Mi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineCommand => ({
    args: [
      ...nameModel(location),
      '--host',
      ENGINE_HOST,
      '--port',
      String(spec.engine.port),
      '--metrics',
      '--alias',
      servedModelName,
      ...(gpus > 0 ? ['--n-gpu-layers', '999'] : []),
      ...(KIND_ARGS[spec.kind] ?? []),
    ],
    env: [],
  }),
  refuse: ({ location }) => {
    if (location.kind === 'repository' && location.revision)
      return 'spec.model.source.huggingFace.revision: llama-cpp supports the default branch only: omit it';
    if (location.kind === 'path' && !location.path.endsWith('.gguf'))
      return 'spec.model.source: llama-cpp needs the path of a .gguf file';
    return undefined;
  },
};

/** A repository is named with the quantization behind a colon: `org/repo:Q4_K_M`. */
function nameModel(location: ModelLocation): string[] {
  if (location.kind === 'none') return [];
  return location.kind === 'repository' ? ['--hf-repo', location.repository] : ['--model', location.path];
}
