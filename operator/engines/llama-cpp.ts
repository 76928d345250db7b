/** llama.cpp: GGUF models, also without a GPU. */
import {
  ENGINE_HOST,
  type EngineInput,
  type EnginePresetDefinition,
  type EngineRun,
  type ModelLocation,
} from './engine.ts';

const IMAGE = 'ghcr.io/ggml-org/llama.cpp';
const BUILD = 'b11382';

export const llamaCpp: EnginePresetDefinition = {
  image: (gpus) => `${IMAGE}:server-${gpus > 0 ? `cuda-${BUILD}` : BUILD}`,
  gpus: 0,
  uid: 2000,
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineRun => ({
    args: [
      ...nameModel(location),
      '--host',
      ENGINE_HOST,
      '--port',
      String(spec.engine.port),
      '--alias',
      servedModelName,
      ...(gpus > 0 ? ['--n-gpu-layers', '999'] : []),
      ...(spec.kind === 'Embedding' ? ['--embeddings'] : []),
    ],
    env: [],
  }),
  refuse: ({ location }) => {
    if (location.kind === 'repository' && location.revision)
      return 'spec.model.source.huggingFace.revision: llama-cpp takes the default branch only';
    if (location.kind === 'path' && !location.path.endsWith('.gguf'))
      return 'spec.model.source: llama-cpp needs the path of a .gguf file';
    return undefined;
  },
};

/** A repository is named with the quantisation behind a colon: `org/repo:Q4_K_M`. */
function nameModel(location: ModelLocation): string[] {
  if (location.kind === 'none') return [];
  return location.kind === 'repository' ? ['--hf-repo', location.repository] : ['--model', location.path];
}
