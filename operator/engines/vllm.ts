/** vLLM: LLM, vision-language, embedding, reranking and transcription models. */
import { sleepsWhenIdle } from '../../api/engine-traits.ts';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { readArgument } from './arguments.ts';
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  type ImageVendor,
  imagePair,
  modelReference,
  NO_MEDIA_HOST,
  revisionFlag,
  variables,
} from './engine.ts';
import { listFlagsSince } from './engine-version.ts';
import { listVLLMCacheFlags } from './kv-cache.ts';
import { decideChatTemplate, decideFamily, decideParsers } from './model-families.ts';
import { findReranker } from './rerankers.ts';

/** The image's own user `vllm`: torch looks up its user, and fails for one without a passwd entry. */
export const VLLM_UID = 2000;

/** Above the gateway's default limit; its own defaults of 25 MiB, 10 minutes and 256 MiB would refuse an hour of speech. */
const AUDIO_ENV = variables({
  VLLM_MAX_AUDIO_CLIP_FILESIZE_MB: '1024',
  VLLM_MAX_AUDIO_DECODE_DURATION_S: '14400',
  VLLM_MAX_AUDIO_DECODE_BYTES: String(2 * 1024 ** 3),
});

/** Its sleep routes are development routes: only the gateway reaches them, since the engine listens on loopback. */
const SLEEP_ENV = variables({ VLLM_SERVER_DEV_MODE: '1' });

export const VLLM_ENV = variables({
  VLLM_MEDIA_URL_ALLOW_REDIRECTS: '0',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
});

/** Without a parser the engine refuses `tools` with `tool_choice: auto`. */
function listParserFlags({ spec, version }: EngineInput): string[] {
  const { tools, reasoning } = decideParsers('vllm', { family: decideFamily(spec), version });
  const hasOwn = readArgument(spec.engine.args, 'tool-call-parser') !== undefined;
  return [
    ...(tools || hasOwn ? ['--enable-auto-tool-choice'] : []),
    ...(tools ? [`--tool-call-parser=${tools}`] : []),
    ...(reasoning ? [`--reasoning-parser=${reasoning}`] : []),
  ];
}

const IMAGES = imagePair('docker.io/vllm/vllm-openai:v0.33.0', 'docker.io/vllm/vllm-openai-rocm:v0.33.0');
/** The same engine with audio decoders: its own images have none (`vllm[audio]`), and refuse each upload. */
export const OMNI_IMAGES = imagePair(
  'docker.io/vllm/vllm-omni:v0.30.0',
  'docker.io/vllm/vllm-omni-rocm:v0.28.0',
);

/** Where its images have the examples. */
const EXAMPLES: Record<ImageVendor, string> = {
  nvidia: '/vllm-workspace/examples',
  none: '/vllm-workspace/examples',
  amd: '/app/vllm/examples',
};

/** Beside the chat templates. */
const RERANK_TEMPLATES = 'pooling/score/template';

function listTemplateFlags(template: string | undefined, imageOf: ImageVendor | undefined): string[] {
  return template && imageOf ? [`--chat-template=${EXAMPLES[imageOf]}/${template}`] : [];
}

/** Without the template it concatenates query and text. */
function listRerankFlags(spec: ModelDeploymentSpec, imageOf: ImageVendor | undefined): string[] {
  const { overrides, vllmTemplate } = findReranker(spec) ?? {};
  return [
    ...(overrides ? [`--hf-overrides=${JSON.stringify(overrides)}`] : []),
    ...listTemplateFlags(vllmTemplate && `${RERANK_TEMPLATES}/${vllmTemplate}`, imageOf),
  ];
}

function listArguments(input: EngineInput): string[] {
  const { spec, location, servedModelName, version, gpus, drainMs, imageOf } = input;
  return [
    ...modelReference(location),
    `--host=${ENGINE_HOST}`,
    `--port=${spec.engine.port}`,
    `--served-model-name=${servedModelName}`,
    ...revisionFlag(location),
    ...(gpus > 1 ? [`--tensor-parallel-size=${gpus}`] : []),
    ...(spec.kind === 'Embedding' || spec.kind === 'Rerank' ? ['--runner=pooling'] : []),
    ...listRerankFlags(spec, imageOf),
    ...listTemplateFlags(decideChatTemplate('vllm', spec), imageOf),
    ...(spec.kind === 'LLM' ? [...listParserFlags(input), '--enable-prompt-tokens-details'] : []),
    ...listFlagsSince('vllm', spec.kind, version),
    ...listVLLMCacheFlags(spec),
    '--scheduling-policy=priority',
    // It would abort requests in flight at once, as if the responses were complete.
    `--shutdown-timeout=${Math.ceil(drainMs / 1000)}`,
    `--allowed-media-domains=${NO_MEDIA_HOST}`,
    ...(sleepsWhenIdle(spec) ? ['--enable-sleep-mode'] : []),
  ];
}

export const vllm: EnginePresetDefinition = {
  image: (vendor, kind) => (kind === 'Transcription' ? OMNI_IMAGES : IMAGES)(vendor),
  gpus: 1,
  uid: VLLM_UID,
  requests: { cpu: '1', memory: '4Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: (input: EngineInput): EngineCommand => ({
    command: ['vllm', 'serve'],
    args: listArguments(input),
    env: [
      ...VLLM_ENV,
      ...(input.spec.kind === 'Transcription' ? AUDIO_ENV : []),
      ...(sleepsWhenIdle(input.spec) ? SLEEP_ENV : []),
    ],
  }),
};
