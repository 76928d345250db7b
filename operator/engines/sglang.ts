/** SGLang: LLM, vision-language, embedding, reranking and transcription models. */
import { readArgument } from './arguments.ts';
import {
  ENGINE_HOST,
  type EngineCommand,
  type EngineInput,
  type EnginePresetDefinition,
  type ImageVendor,
  imagePair,
  modelFlag,
  NO_MEDIA_HOST,
  revisionFlag,
  variables,
} from './engine.ts';
import { listSGLangCacheFlags, listSGLangCacheVariables } from './kv-cache.ts';
import { decideChatTemplate, decideFamily, decideParsers } from './model-families.ts';
import { findReranker } from './rerankers.ts';

/** For the MI300 series; MI350 ones need `-mi35x`, by the chart's `engines.images`. */
const ROCM_IMAGE = 'docker.io/lmsysorg/sglang:v0.5.18-rocm720-mi30x';
export const sglangImage = imagePair('docker.io/lmsysorg/sglang:v0.5.23', ROCM_IMAGE);
export const SGLANG_UID = 2000;

/** Cross-encoders read a pair as a whole: it can be neither chunked nor prefix-cached. */
const CROSS_ENCODER_FLAGS = [
  '--is-embedding',
  '--disable-radix-cache',
  '--chunked-prefill-size=-1',
  '--attention-backend=triton',
];

/** Folder of the chat templates in its images, which its package lacks. */
const TEMPLATES = '/sgl-workspace/sglang/examples/chat_template';

function listTemplateFlags(template: string | undefined, imageOf: ImageVendor | undefined): string[] {
  return template && imageOf ? [`--chat-template=${TEMPLATES}/${template}`] : [];
}

function listKindFlags(input: EngineInput): string[] {
  const { spec, imageOf } = input;
  switch (spec.kind) {
    case 'LLM':
      return [
        ...listParserFlags(input),
        ...listTemplateFlags(decideChatTemplate('sglang', spec), imageOf),
        '--enable-cache-report',
        ...PRIORITY_FLAGS,
      ];
    case 'Embedding':
      return ['--is-embedding'];
    case 'Rerank': {
      // It generates "yes" or "no"; SGLang recognizes it only by the template.
      const template = findReranker(spec)?.sglangTemplate;
      return template ? listTemplateFlags(template, imageOf) : CROSS_ENCODER_FLAGS;
    }
    default:
      return [];
  }
}

function listParserFlags({ spec, version }: EngineInput): string[] {
  const { tools, reasoning } = decideParsers('sglang', { family: decideFamily(spec), version });
  return [
    ...(tools ? [`--tool-call-parser=${tools}`] : []),
    ...(reasoning ? [`--reasoning-parser=${reasoning}`] : []),
  ];
}

/** Running requests are not preempted: their clients would wait mid-stream. */
const PRIORITY_FLAGS = [
  '--enable-priority-scheduling',
  '--disable-priority-preemption',
  '--default-priority-value=0',
];

function listArguments(input: EngineInput): string[] {
  const { spec, location, servedModelName, gpus } = input;
  return [
    ...modelFlag('--model-path', location),
    `--host=${ENGINE_HOST}`,
    `--port=${spec.engine.port}`,
    `--served-model-name=${servedModelName}`,
    ...revisionFlag(location),
    '--enable-metrics',
    `--allowed-media-domains=${NO_MEDIA_HOST}`,
    ...listKindFlags(input),
    ...listSGLangCacheFlags(input),
    ...(gpus > 1 ? [`--tp-size=${gpus}`] : []),
  ];
}

export const sglang: EnginePresetDefinition = {
  image: sglangImage,
  gpus: 1,
  uid: SGLANG_UID,
  requests: { cpu: '1', memory: '4Gi' },
  metricsPath: '/metrics',
  needsModel: true,
  run: (input: EngineInput): EngineCommand => ({
    command: ['python3', '-m', 'sglang.launch_server'],
    args: listArguments(input),
    // Otherwise its health check generates a token, which queues behind long prompts: a busy engine would look dead.
    env: [
      ...variables({ SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION: '0' }),
      ...listSGLangCacheVariables(input),
    ],
  }),
  refuse: (input) => {
    const { servedModelName } = input;
    if (servedModelName.includes(':'))
      return `spec.engine.servedModelName ${servedModelName}: sglang does not accept names with a colon: use another, or omit it`;
    return refuseReranker(input);
  },
};

/** Otherwise it would rank with meaningless scores, or fail each request. */
function refuseReranker({ spec, imageOf }: EngineInput): string | undefined {
  const known = findReranker(spec);
  if (!known || spec.engine.command) return undefined;
  if (!known.sglangTemplate)
    return imageOf
      ? 'spec.model.source: sglang cannot rank with this model: use preset vllm, or an image whose SGLang can'
      : undefined;
  if (imageOf || readArgument(spec.engine.args, 'chat-template') !== undefined) return undefined;
  return `spec.engine.args: sglang ranks with this model by a chat template only: name the file in your image by --chat-template (in SGLang's source it is examples/chat_template/${known.sglangTemplate})`;
}
