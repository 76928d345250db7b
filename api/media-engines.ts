/** What image and video engines support, by preset: unsupported parameters are rejected before a request is queued (decision 0157). */
import type { MediaPreset } from './engine-presets.ts';

/** In the order in which they are listed. Here and not with the schemas, which sidecars do not load. */
export const MEDIA_PARAMETERS = [
  'negative_prompt',
  'seed',
  'num_inference_steps',
  'guidance_scale',
  'true_cfg_scale',
  'flow_shift',
  'output_format',
  'fps',
] as const;
export type MediaParameter = (typeof MEDIA_PARAMETERS)[number];

export type MediaTask = 'txt2img' | 'img2img' | 't2v' | 'i2v';

export interface Bounds {
  min: number;
  max: number;
}

export interface MediaEngine {
  /** Name in messages. */
  name: string;
  /** Parameters that it reads. */
  reads: Readonly<Record<MediaTask, readonly MediaParameter[]>>;
  /** Defaults of these for a model that lists none; undefined: all. */
  usual?: Readonly<Record<MediaTask, readonly MediaParameter[]>>;
  /** Tasks whose models get the members of `extra_params`. */
  extraParams: readonly MediaTask[];
  /** Its field for an edit's mask; null: unsupported. */
  maskField: string | null;
  seed: Bounds;
  /** Without a seed it always uses the same one: the same prompt would always give the same picture. */
  hasFixedSeed?: true;
  guidanceScale: Bounds;
  trueCfgScale: Bounds;
  flowShift: Bounds;
  maxSteps: number;
  /** Sides of its images and videos are multiples of it. */
  sideStep: number;
  /** Maximum number of a video's reference images. */
  maxReferences: number;
  /** Their field if there are several. */
  referencesField: string;
  /** Most images of one request. */
  maxImages: number;
  /** Its DELETE of a running video stops the work; otherwise it only forgets the video, and continues. */
  deleteEndsWork: boolean;
}

const ANY_SEED: Bounds = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
const SCALE: Bounds = { min: 0, max: 100 };

const COMMON = ['negative_prompt', 'seed', 'num_inference_steps'] as const;
const OF_ALL_IMAGES = [...COMMON, 'guidance_scale'] as const;
const OF_ALL_VIDEOS = [...COMMON, 'fps'] as const;

const VIDEO = [...COMMON, 'guidance_scale', 'true_cfg_scale', 'flow_shift', 'fps'] as const;
const EDIT = [...OF_ALL_IMAGES, 'true_cfg_scale', 'output_format'] as const;
const GENERATION = [...EDIT, 'flow_shift'] as const;

/** Both real engines read the schedule shift only for images without an input image. */
const READS = { txt2img: GENERATION, img2img: EDIT, t2v: VIDEO, i2v: VIDEO } as const;

const VLLM_OMNI: MediaEngine = {
  name: 'vLLM-Omni',
  reads: READS,
  extraParams: ['txt2img', 't2v', 'i2v'],
  maskField: 'mask_image',
  seed: ANY_SEED,
  guidanceScale: { min: 0, max: 20 },
  trueCfgScale: { min: 0, max: 20 },
  flowShift: SCALE,
  maxSteps: 200,
  sideStep: 16,
  maxReferences: 9,
  referencesField: 'input_references',
  maxImages: 10,
  deleteEndsWork: false,
};

const SGLANG_DIFFUSION: MediaEngine = {
  name: 'SGLang Diffusion',
  reads: READS,
  // It reads their members as fields of the request, some of which are local file paths.
  extraParams: [],
  maskField: null,
  seed: { min: 0, max: Number.MAX_SAFE_INTEGER },
  hasFixedSeed: true,
  guidanceScale: SCALE,
  trueCfgScale: SCALE,
  flowShift: SCALE,
  maxSteps: 1000,
  sideStep: 1,
  // It uses only the first of several.
  maxReferences: 1,
  referencesField: 'input_reference',
  maxImages: 10,
  deleteEndsWork: false,
};

/** The simulator, and engines of which nothing is known. */
const OTHER: MediaEngine = {
  name: 'the engine',
  reads: { ...READS, img2img: GENERATION },
  usual: { txt2img: OF_ALL_IMAGES, img2img: OF_ALL_IMAGES, t2v: OF_ALL_VIDEOS, i2v: OF_ALL_VIDEOS },
  extraParams: ['txt2img', 'img2img', 't2v', 'i2v'],
  maskField: 'mask',
  seed: ANY_SEED,
  guidanceScale: { min: -Number.MAX_VALUE, max: Number.MAX_VALUE },
  trueCfgScale: SCALE,
  flowShift: SCALE,
  maxSteps: 1000,
  sideStep: 1,
  maxReferences: 9,
  referencesField: 'input_reference',
  maxImages: 100,
  deleteEndsWork: true,
};

const ENGINES: Record<MediaPreset, MediaEngine> = {
  'vllm-omni': VLLM_OMNI,
  'sglang-diffusion': SGLANG_DIFFUSION,
  simulator: OTHER,
  custom: OTHER,
};

/** By `engine.preset`, which a newer operator may have written. */
export const findMediaEngine = (preset: string): MediaEngine => ENGINES[preset as MediaPreset] ?? OTHER;
