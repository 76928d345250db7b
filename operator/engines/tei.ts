/** Text Embeddings Inference: embedding and reranking models, also without a GPU. */
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  modelFlag,
  revisionFlag,
  variables,
} from './engine.ts';

const IMAGE = 'ghcr.io/huggingface/text-embeddings-inference';
const VERSION = '1.9.4';
const VARIANTS = { nvidia: 'cuda', none: 'cpu' } as const;

/** Inputs per request, as many as OpenAI accepts; the engine's default of 32 breaks its clients. */
const MAX_INPUTS = 2048;
/** Concurrent inputs, each of which takes a permit: enough for several of the largest requests. */
const MAX_INPUTS_IN_FLIGHT = 4 * MAX_INPUTS;
/** Above the gateway's default limit, so that callers get the gateway's error. */
const MAX_BODY_BYTES = 64 * 1024 ** 2;

/** Where GKE and others mount the driver. The entry point writes this into the linker's folder, which only root can. */
const DRIVER_PATHS = '/usr/local/nvidia/lib64:/usr/local/nvidia/lib:/usr/local/cuda/lib64';

export const tei: EnginePresetDefinition = {
  image: (vendor) => (vendor === 'amd' ? undefined : `${IMAGE}:${VARIANTS[vendor]}-${VERSION}`),
  gpus: 1,
  uid: 2000,
  requests: { cpu: '1', memory: '2Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  // The image's own entry point selects the build for the GPU.
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineCommand => ({
    args: [
      ...modelFlag('--model-id', location),
      ...revisionFlag(location),
      // Kubernetes sets HOSTNAME, which the router would use as its address.
      `--hostname=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
      `--max-client-batch-size=${MAX_INPUTS}`,
      `--max-concurrent-requests=${MAX_INPUTS_IN_FLIGHT}`,
      `--payload-limit=${MAX_BODY_BYTES}`,
    ],
    env: gpus > 0 ? variables({ LD_LIBRARY_PATH: DRIVER_PATHS }) : [],
  }),
};
