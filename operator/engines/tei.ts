/** Text Embeddings Inference: embedding models, also without a GPU. */
import {
  ENGINE_HOST,
  type EngineInput,
  type EnginePresetDefinition,
  type EngineRun,
  modelFlag,
  revisionFlag,
} from './engine.ts';

const IMAGE = 'ghcr.io/huggingface/text-embeddings-inference';

export const tei: EnginePresetDefinition = {
  image: (gpus) => `${IMAGE}:${gpus > 0 ? 'cuda-1.9' : 'cpu-1.9'}`,
  gpus: 1,
  uid: 2000,
  needsModel: true,
  // The image's own entry point picks the build that fits the GPU.
  run: ({ spec, location, servedModelName }: EngineInput): EngineRun => ({
    args: [
      ...modelFlag('--model-id', location),
      ...revisionFlag(location),
      // Kubernetes sets HOSTNAME, which the router would take for its address.
      `--hostname=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
    ],
    env: [],
  }),
};
