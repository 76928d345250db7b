/** Differences between image and video engines. */

export type VideoStatus = 'queued' | 'in_progress' | 'completed' | 'failed';

export interface MediaHabits {
  /** Field of an edit's mask; null: none is read. */
  maskField: string | null;
  minSeed: number;
  maxSteps: number;
  maxGuidance: number;
  /** Sides that are no multiples of it fail in the middle of the work. */
  sideStep: number;
  /** A DELETE ends the work on a video; otherwise the video is forgotten and its work continues. */
  deleteEndsWork: boolean;
  /** How far a video is can be seen before its end. */
  reportsProgress: boolean;
  /** How the states of videos that have not ended are called. */
  states: Readonly<Record<'queued' | 'in_progress', VideoStatus>>;
  /** A poll of a failed video has the status of its failure. */
  failsPolls: boolean;
  describeFailure: (error: { status: number; type: string; message: string }) => object;
}

export const PLAIN_MEDIA: MediaHabits = {
  maskField: 'mask',
  minSeed: Number.MIN_SAFE_INTEGER,
  maxSteps: 1000,
  maxGuidance: 100,
  sideStep: 1,
  deleteEndsWork: true,
  reportsProgress: true,
  states: { queued: 'queued', in_progress: 'in_progress' },
  failsPolls: false,
  describeFailure: ({ type, message }) => ({ code: type, message }),
};

export const VLLM_OMNI_MEDIA: MediaHabits = {
  maskField: 'mask_image',
  minSeed: Number.MIN_SAFE_INTEGER,
  maxSteps: 200,
  maxGuidance: 20,
  sideStep: 16,
  deleteEndsWork: false,
  reportsProgress: false,
  states: { queued: 'in_progress', in_progress: 'in_progress' },
  failsPolls: true,
  describeFailure: ({ status, message }) => ({ code: status, message }),
};

export const SGLANG_DIFFUSION_MEDIA: MediaHabits = {
  ...PLAIN_MEDIA,
  maskField: null,
  minSeed: 0,
  deleteEndsWork: false,
  reportsProgress: false,
  states: { queued: 'queued', in_progress: 'queued' },
  describeFailure: ({ message }) => ({
    message: `Model generation returned no output. Error from scheduler: ${message}`,
  }),
};
