/** vLLM-Omni: image and video models. */
import {
  ENGINE_HOST,
  type EngineInput,
  type EnginePresetDefinition,
  type EngineRun,
  imagePair,
  modelReference,
  revisionFlag,
} from './engine.ts';
import { NO_MEDIA_HOST, VLLM_ENV, VLLM_UID } from './vllm.ts';

export const vllmOmni: EnginePresetDefinition = {
  image: imagePair('docker.io/vllm/vllm-omni:v0.28.0', 'docker.io/vllm/vllm-omni-rocm:v0.28.0'),
  gpus: 1,
  uid: VLLM_UID,
  requests: { cpu: '1', memory: '4Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineRun => ({
    command: ['vllm', 'serve'],
    args: [
      ...modelReference(location),
      '--omni',
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
      ...revisionFlag(location),
      // Diffusion is split by sequence; tensor parallelism is for the language models.
      ...(gpus > 1 ? [`--usp=${gpus}`] : []),
      `--allowed-media-domains=${NO_MEDIA_HOST}`,
    ],
    env: VLLM_ENV,
  }),
};
