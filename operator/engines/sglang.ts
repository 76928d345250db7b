/** SGLang: LLM, vision-language, embedding, reranking and transcription models. It has no switch against fetching media: the gateway holds those back. */
import type { ModelKind } from '../../api/engine-presets.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  imagePair,
  modelFlag,
  revisionFlag,
  variables,
} from './engine.ts';
import { decideFamily, decideParsers } from './model-families.ts';

/** For the MI300 series; MI350 ones need `-mi35x`, by the chart's `engines.images`. */
const ROCM_IMAGE = 'docker.io/lmsysorg/sglang:v0.5.18-rocm720-mi30x';
export const sglangImage = imagePair('docker.io/lmsysorg/sglang:v0.5.18', ROCM_IMAGE);
export const SGLANG_UID = 2000;

/** Cross-encoders are encoders, which read a pair as a whole: it cannot be cut, nor its beginning be kept for another. */
const KIND_ARGS: Partial<Record<ModelKind, string[]>> = {
  Embedding: ['--is-embedding'],
  Rerank: [
    '--is-embedding',
    '--disable-radix-cache',
    '--chunked-prefill-size=-1',
    '--attention-backend=triton',
  ],
};

function listParserFlags(spec: ModelDeploymentSpec): string[] {
  const { tools, reasoning } = decideParsers('sglang', decideFamily(spec));
  return [
    ...(tools ? [`--tool-call-parser=${tools}`] : []),
    ...(reasoning ? [`--reasoning-parser=${reasoning}`] : []),
  ];
}

/** What runs is not interrupted: its client would wait in the middle of a stream. */
const PRIORITY_ARGS = [
  '--enable-priority-scheduling',
  '--disable-priority-preemption',
  '--default-priority-value=0',
];

export const sglang: EnginePresetDefinition = {
  image: sglangImage,
  gpus: 1,
  uid: SGLANG_UID,
  requests: { cpu: '1', memory: '4Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: ({ spec, location, servedModelName, gpus }: EngineInput): EngineCommand => ({
    command: ['python3', '-m', 'sglang.launch_server'],
    args: [
      ...modelFlag('--model-path', location),
      `--host=${ENGINE_HOST}`,
      `--port=${spec.engine.port}`,
      `--served-model-name=${servedModelName}`,
      ...revisionFlag(location),
      '--enable-metrics',
      ...(spec.kind === 'LLM' ? [...listParserFlags(spec), '--enable-cache-report', ...PRIORITY_ARGS] : []),
      ...(gpus > 1 ? [`--tp-size=${gpus}`] : []),
      ...(KIND_ARGS[spec.kind] ?? []),
    ],
    // Otherwise its health check generates a token, which waits behind long prompts: a busy engine would look dead.
    env: variables({ SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION: '0' }),
  }),
  refuse: ({ servedModelName }) =>
    servedModelName.includes(':')
      ? `spec.engine.servedModelName ${servedModelName}: sglang takes no name with a colon: use another, or omit it`
      : undefined,
};
