/** vLLM: LLM, vision-language and embedding models. */
import {
  ENGINE_HOST,
  type EngineInput,
  type EnginePresetDefinition,
  type EngineRun,
  imagePair,
  modelReference,
  revisionFlag,
  variables,
} from './engine.ts';

/** The only host that vLLM may fetch media from: none, since `.invalid` never resolves. `data:` URLs still work. */
export const NO_MEDIA_HOST = 'none.invalid';

/** The image's own user `vllm`: torch looks its user up, and fails for one without a passwd entry. */
export const VLLM_UID = 2000;

export const VLLM_ENV = variables({
  VLLM_MEDIA_URL_ALLOW_REDIRECTS: '0',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
});

export const vllm: EnginePresetDefinition = {
  image: imagePair('docker.io/vllm/vllm-openai:v0.28.0', 'docker.io/vllm/vllm-openai-rocm:v0.28.0'),
  gpus: 1,
  uid: VLLM_UID,
  requests: { cpu: '1', memory: '4Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineRun => ({
    command: ['vllm', 'serve'],
    args: [
      ...modelReference(location),
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
      ...revisionFlag(location),
      ...(gpus > 1 ? [`--tensor-parallel-size=${gpus}`] : []),
      ...(spec.kind === 'Embedding' ? ['--runner=pooling'] : []),
      `--allowed-media-domains=${NO_MEDIA_HOST}`,
    ],
    env: VLLM_ENV,
  }),
};
