/** A worker's view of a request: the parameters in its record, written at submission and read at the claim. */
import type { StoredObject } from '../../api/request.ts';

/** Parameters common to images and videos, as far as model and engine apply them. */
export interface ExtraParameters {
  negativePrompt?: string;
  seed?: number;
  steps?: number;
  guidanceScale?: number;
  trueCfgScale?: number;
  flowShift?: number;
  /** Only members that the deployment lists. */
  extraParams?: Record<string, unknown>;
}

/** Parameters for an image engine: validated, with defaults filled in and steps clamped. */
export interface ImageParameters extends ExtraParameters {
  task: 'txt2img' | 'img2img';
  prompt: string;
  n: number;
  /** Size of each image. */
  size: string;
  /** png, jpeg or webp. */
  outputFormat?: string;
}

/** Parameters for a video engine. */
export interface VideoParameters extends ExtraParameters {
  task: 't2v' | 'i2v';
  prompt: string;
  size: string;
  frames: number;
  fps: number;
}

/** The shortest clip that is generated and charged. */
export const MIN_VIDEO_FRAMES = 5;

/** An upload in the managed bucket, below `inputs/`. */
export interface JobInput {
  object: StoredObject;
  contentType: string;
  fileName: string;
  bytes: number;
}

interface JobBase {
  v: 1;
  /** Name of the StorageCredential for the results; null = the managed bucket. */
  credential: string | null;
  /** Images of an edit in their order, or a video's reference. */
  inputs: JobInput[];
}

export type ImageJob = JobBase & { kind: 'image'; parameters: ImageParameters };
export type VideoJob = JobBase & {
  kind: 'video';
  parameters: VideoParameters;
  /** The charge of the clip, for a repeated submission; absent: written by an older gateway. */
  askedSeconds?: number;
};
export type Job = ImageJob | VideoJob;

/** Reference in the record to a job of more than MAX_PARAMS_BYTES, which is stored as JSON below `inputs/`. */
export interface JobReference {
  v: 1;
  kind: 'stored';
  object: StoredObject;
}

/** null if unknown to this version. */
export function parseJob(text: string): Job | JobReference | null {
  try {
    const job = JSON.parse(text) as Job | JobReference | null;
    if (job?.v !== 1) return null;
    if (job.kind === 'stored') return job.object ? job : null;
    const isWhole = Array.isArray(job.inputs) && typeof job.parameters?.prompt === 'string';
    return isWhole && (job.kind === 'image' || job.kind === 'video') ? job : null;
  } catch {
    return null;
  }
}
