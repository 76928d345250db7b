/** The flags of all commands that a preset builds, for any spec. */
import { build } from '../unit/operator/resources/fixtures.ts';
import type { EngineName } from './catalog.ts';

/** Including those whose sources are only read. */
export type CommandedEngine = EngineName | 'tei';

const IMAGE = { image: { sizes: ['64x64'], tasks: ['txt2img'] } };
const VIDEO = { video: { resolutions: ['64x64'], tasks: ['t2v'] } };
/** With the required fields of the kind. */
const KINDS: Record<CommandedEngine, [string, object?][]> = {
  vllm: [['LLM'], ['Embedding'], ['Rerank'], ['Transcription']],
  'llama-cpp': [['LLM'], ['Embedding'], ['Rerank']],
  'vllm-omni': [['Image', IMAGE], ['Video', VIDEO], ['Speech']],
  'sglang-diffusion': [
    ['Image', IMAGE],
    ['Video', VIDEO],
  ],
  sglang: [['LLM'], ['Embedding'], ['Rerank'], ['Transcription']],
  tei: [['Embedding'], ['Rerank']],
};
const HUB = { huggingFace: { repo: 'org/model', revision: 'main' } };
const CLAIM = { pvc: { claimName: 'weights', path: 'model.gguf' } };
const CHAT_ENGINES: readonly string[] = ['vllm', 'sglang'];

function repository(repo: string): object {
  return { model: { id: repo.toLowerCase(), source: { huggingFace: { repo } } } };
}

/** Specs for which a preset builds special commands. */
const PARTICULAR: object[] = [
  { scaling: { min: 0, max: 1, idle: 'Sleep' }, model: { id: 'org/model', source: HUB } },
  { kind: 'Rerank', ...repository('Qwen/Qwen3-Reranker-8B') },
  { kind: 'Rerank', ...repository('Qwen/Qwen3-VL-Reranker-8B') },
  // Families with a template in the image.
  repository('deepseek-ai/DeepSeek-V3.1'),
  repository('Salesforce/xLAM-2-8b-fc-r'),
];

function listSpecs(name: CommandedEngine, version: string | undefined): object[] {
  const isChat = CHAT_ENGINES.includes(name);
  const preset = { preset: name, ...(version !== undefined && { version }) };
  const sources = [HUB, { huggingFace: { repo: 'org/model' } }, CLAIM];
  const usual = KINDS[name].flatMap(([kind, more]) =>
    sources
      // It does not support revisions.
      .filter((source) => name !== 'llama-cpp' || source !== HUB)
      .flatMap((source) =>
        [1, 2].map((count) => ({
          kind,
          model: { id: 'org/model', source },
          engine: {
            ...preset,
            ...(kind === 'LLM' && isChat ? { family: 'qwen3', kvCache: { cpu: '40Gi', disk: '200Gi' } } : {}),
          },
          gpu: { count },
          ...more,
        })),
      ),
  );
  return [...usual, ...(isChat ? PARTICULAR : []).map((spec) => ({ engine: preset, ...spec }))];
}

/** With values that are in the same word; sorted. Of a version of the engine, or of the preset's image. */
export function listCommandFlags(name: CommandedEngine, version?: string): string[] {
  const words = listSpecs(name, version).flatMap((spec) => build(spec).engine.args ?? []);
  return [...new Set(words.filter((word) => word.startsWith('-')))].sort();
}
