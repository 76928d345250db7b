/**
 * How the engines differ, as far as several programs or folders decide by it: a new preset does not compile until each is decided. By the
 * versions that the presets pin (`operator/engines/`); without a library, for pages too.
 */
import type { EnginePreset, ModelKind } from './engine-presets.ts';

export const ENGINE_PRIORITIES = ['lower-first', 'higher-first'] as const;
/** Which numbers come first. */
export type EnginePriority = (typeof ENGINE_PRIORITIES)[number];

/** What is read of a `ModelDeploymentSpec`, whose schema needs this file. */
interface Spec {
  kind: ModelKind;
  model: { id: string };
  engine: { preset: EnginePreset; servedModelName?: string | undefined };
  gpu?: { count: number; deviceClass?: string | undefined } | undefined;
  scaling?: { idle?: string | undefined } | undefined;
  template: { resourceClaims?: readonly unknown[] | undefined };
}

export interface EngineTraits {
  /** Name in the console. */
  label: string;
  /**
   * GPUs that the console's form of a new deployment suggests, which writes them into the spec. A spec without `gpu` gets those of
   * `PRESETS`, which differ: that of tei has images for GPUs and for CPUs, and nothing is known of a custom one.
   */
  suggestedGPUs: number;
  /** Whether a served name may have a colon; SGLang expects the name of an adapter after it. */
  takesColons: boolean;
  /** Whether it can load and unload adapters while it runs, and refuses a request for one that is not loaded. */
  takesAdapters: boolean;
  /** Whether a replica can sleep: vLLM supports it only on GPUs. */
  canSleep: (spec: Pick<Spec, 'kind' | 'gpu'>) => boolean;
  /** Which `priority` of a request comes first, with the preset's arguments (decision 0154); null: it reads none. */
  priority: EnginePriority | null;
  /** Header of the priority, where the body of messages has none; null: unsupported. */
  priorityHeader: string | null;
  /** Whether it reports usage in every frame of a stream on request. */
  reportsUsageContinuously: boolean;
  /** Whether it continues a message of gpt-oss, as is assumed of those of which it is unknown. */
  continuesHarmony: boolean;
  /** Whether `max_completion_tokens` precedes `max_tokens`; otherwise the larger limit is assumed. */
  prefersNewerLimit: boolean;
  /** Whether `/v1/messages/count_tokens` counts a conversation; otherwise `/v1/responses/input_tokens` does. */
  countsMessages: boolean;
  /** Whether it leaves out parameters without an error (`gateway/text/ignored-parameters.ts`). */
  ignoresParameters: boolean;
  /** Where it reports its context length: `/v1/models`, `/props` or `/info`. */
  contextSource: 'models' | 'props' | 'info';
  /** Whose requests of `/tokenize` and `/detokenize` it reads. */
  tokenDialect: 'vllm' | 'sglang' | 'tei' | 'llama-cpp';
  /** Whose API of reranking it has (decision 0171). */
  rerankDialect: 'jina' | 'tei' | 'sglang';
  /** Whether it scores pairs at a route of its own; otherwise its reranking does. */
  hasScoreRoute: boolean;
  /** Whether it embeds `messages`, with images. */
  embedsMessages: boolean;
  /** Whether it returns vectors as bytes, and numbers other than 32-bit floats. */
  hasVectorFormats: boolean;
}

const never = (): boolean => false;

/** An engine without text routes, whose traits of these do not matter. */
const MEDIA_ONLY = {
  takesColons: true,
  takesAdapters: false,
  canSleep: never,
  priority: null,
  priorityHeader: null,
  reportsUsageContinuously: false,
  continuesHarmony: true,
  prefersNewerLimit: false,
  countsMessages: false,
  ignoresParameters: false,
  contextSource: 'models',
  tokenDialect: 'vllm',
  rerankDialect: 'jina',
  hasScoreRoute: false,
  embedsMessages: false,
  hasVectorFormats: false,
} as const;

export const ENGINE_TRAITS: Record<EnginePreset, EngineTraits> = {
  vllm: {
    label: 'vLLM',
    suggestedGPUs: 1,
    takesColons: true,
    takesAdapters: true,
    canSleep: ({ gpu }) => gpu?.count !== 0,
    priority: 'lower-first',
    priorityHeader: 'x-vllm-priority',
    reportsUsageContinuously: true,
    continuesHarmony: false,
    prefersNewerLimit: true,
    countsMessages: true,
    ignoresParameters: false,
    contextSource: 'models',
    tokenDialect: 'vllm',
    rerankDialect: 'jina',
    hasScoreRoute: true,
    embedsMessages: true,
    hasVectorFormats: true,
  },
  sglang: {
    label: 'SGLang',
    suggestedGPUs: 1,
    takesColons: false,
    takesAdapters: false,
    canSleep: never,
    priority: 'higher-first',
    priorityHeader: null,
    reportsUsageContinuously: true,
    continuesHarmony: true,
    prefersNewerLimit: false,
    countsMessages: true,
    ignoresParameters: false,
    contextSource: 'models',
    tokenDialect: 'sglang',
    rerankDialect: 'sglang',
    hasScoreRoute: false,
    embedsMessages: false,
    hasVectorFormats: false,
  },
  'vllm-omni': { label: 'vLLM-Omni', suggestedGPUs: 1, ...MEDIA_ONLY },
  'sglang-diffusion': { label: 'SGLang Diffusion', suggestedGPUs: 1, ...MEDIA_ONLY },
  tei: {
    label: 'Text Embeddings Inference',
    suggestedGPUs: 0,
    takesColons: true,
    takesAdapters: false,
    canSleep: never,
    priority: null,
    priorityHeader: null,
    reportsUsageContinuously: false,
    continuesHarmony: true,
    prefersNewerLimit: false,
    countsMessages: false,
    ignoresParameters: false,
    contextSource: 'info',
    tokenDialect: 'tei',
    rerankDialect: 'tei',
    hasScoreRoute: false,
    embedsMessages: false,
    hasVectorFormats: false,
  },
  'llama-cpp': {
    label: 'llama.cpp',
    suggestedGPUs: 0,
    takesColons: true,
    takesAdapters: false,
    canSleep: never,
    priority: null,
    priorityHeader: null,
    reportsUsageContinuously: false,
    continuesHarmony: true,
    prefersNewerLimit: false,
    countsMessages: false,
    ignoresParameters: true,
    contextSource: 'props',
    tokenDialect: 'llama-cpp',
    rerankDialect: 'jina',
    hasScoreRoute: false,
    embedsMessages: false,
    hasVectorFormats: false,
  },
  simulator: {
    label: 'Simulator (no model)',
    suggestedGPUs: 0,
    takesColons: true,
    takesAdapters: true,
    // As vLLM, which it imitates.
    canSleep: ({ kind }) => !['Image', 'Video', 'Speech'].includes(kind),
    priority: null,
    priorityHeader: null,
    reportsUsageContinuously: true,
    continuesHarmony: true,
    prefersNewerLimit: false,
    countsMessages: true,
    ignoresParameters: false,
    contextSource: 'models',
    tokenDialect: 'vllm',
    rerankDialect: 'jina',
    hasScoreRoute: true,
    embedsMessages: false,
    hasVectorFormats: false,
  },
  // An image of which nothing is known.
  custom: {
    label: 'Your own image',
    suggestedGPUs: 1,
    takesColons: true,
    takesAdapters: false,
    canSleep: never,
    priority: null,
    priorityHeader: null,
    reportsUsageContinuously: false,
    continuesHarmony: true,
    prefersNewerLimit: false,
    countsMessages: false,
    ignoresParameters: false,
    contextSource: 'models',
    tokenDialect: 'vllm',
    rerankDialect: 'jina',
    hasScoreRoute: true,
    embedsMessages: false,
    hasVectorFormats: false,
  },
};

/** A preset of a newer operator, of which less may be assumed. */
const UNKNOWN: EngineTraits = { ...ENGINE_TRAITS.custom, hasScoreRoute: false };

/** By `enginePreset` of a gateway's configuration, which a newer operator may have written. */
export const traitsOf = (preset: string): EngineTraits => ENGINE_TRAITS[preset as EnginePreset] ?? UNKNOWN;

export function servedModelName({ engine, model }: Pick<Spec, 'engine' | 'model'>): string {
  if (engine.servedModelName !== undefined) return engine.servedModelName;
  return ENGINE_TRAITS[engine.preset].takesColons ? model.id : model.id.replaceAll(':', '-');
}

type Sleeper = Pick<Spec, 'kind' | 'engine' | 'gpu'>;

export const canSleep = (spec: Sleeper): boolean => ENGINE_TRAITS[spec.engine.preset].canSleep(spec);

/** Whether its last replica sleeps while idle, instead of being removed. */
export const sleepsWhenIdle = (spec: Sleeper & Pick<Spec, 'scaling'>): boolean =>
  spec.scaling?.idle === 'Sleep' && canSleep(spec);

/** Whether its GPUs are claimed by their device class. */
export const claimsGPUs = ({ gpu }: Pick<Spec, 'gpu'>): boolean =>
  gpu?.deviceClass !== undefined && gpu.count > 0;

/** Whether its pods get devices by claims (dynamic resource allocation). */
export const usesDeviceClaims = (spec: Pick<Spec, 'gpu' | 'template'>): boolean =>
  claimsGPUs(spec) || (spec.template.resourceClaims?.length ?? 0) > 0;
