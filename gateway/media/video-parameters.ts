/** Parameters of videos, and the three rules of their validation (docs/api.md, "POST /v1/videos"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { listExtras } from '../../api/media-parameters.ts';
import type { VideoModel } from '../../api/model-media.ts';
import { MIN_VIDEO_FRAMES, type VideoParameters } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import { checkExtraParameters } from './extra-parameters.ts';
import type { FieldReader } from './field-reader.ts';
import {
  chooseDefault,
  listSizes,
  readExtraParameters,
  readModel,
  readPromptField,
  requireServedModel,
} from './request-fields.ts';

export const DEFAULT_RESOLUTION = '720x1280';
export const DEFAULT_SECONDS = 5;
export const DEFAULT_FPS = 24;
/** The maximum for an unpinned model; a pinned model's own may be as large. */
export const MAX_SECONDS = 600;
export const MAX_FPS = 240;
export const TOLERANCE_SECONDS = 0.5;
const GRID = 32;

export type VideoConfig = Pick<GatewayConfig, 'modelId' | 'limits' | 'image' | 'video' | 'enginePreset'>;

export interface VideoFields {
  parameters: VideoParameters;
  /** Length of the clip as shown in a Video object, such as `5` or `5.042`. */
  seconds: string;
  /** What the clip is charged for. */
  askedSeconds: number;
}

/** The names of a route's fields, and its additional features. */
interface Source {
  size: string;
  seconds: string;
  task: VideoParameters['task'];
  areRequired: boolean;
  /** docs/api.md, "POST /v1/videos/generations". */
  isSnapped: boolean;
}

/** Reads the parameters of POST /v1/videos. Throws ApiError. */
export const readVideoFormParameters = (
  fields: FieldReader,
  hasReference: boolean,
  config: VideoConfig,
): VideoFields =>
  read(fields, config, {
    size: 'size',
    seconds: 'seconds',
    task: hasReference ? 'i2v' : 't2v',
    areRequired: true,
    isSnapped: false,
  });

/** Reads the parameters of POST /v1/videos/generations. Throws ApiError. */
export const readVideoGenerationParameters = (fields: FieldReader, config: VideoConfig): VideoFields =>
  read(fields, config, {
    size: 'resolution',
    seconds: 'duration',
    task: 't2v',
    areRequired: false,
    isSnapped: true,
  });

/** Checks types first, then the model and its mode, then values. */
function read(fields: FieldReader, config: VideoConfig, source: Source): VideoFields {
  const model = config.video!;
  const { resolutions, native } = model;
  const extras = listExtras(config, source.task);
  const given = readModel(fields, config);
  const prompt = readPromptField(fields, config.limits);
  const duration = native ? describeDuration(native) : 'a number above 0';
  const seconds = native ? fields.number(source.seconds, duration) : fields.positive(source.seconds);
  const listed = `one of ${listSizes(resolutions)}`;
  const resolution = fields.text(source.size, listed, 'resolution_not_supported');
  if (source.areRequired && seconds === undefined) throw requireParameter('seconds', duration);
  if (source.areRequired && resolution === undefined) throw requireParameter('size', listed);
  const fps = extras.includes('fps')
    ? fields.integer('fps', native ? { allowed: describeRate(native) } : { min: 1, max: MAX_FPS })
    : undefined;
  const extra = readExtraParameters(fields, extras, {
    steps: model.steps,
    promptCharacters: config.limits.promptCharacters,
  });
  requireServedModel(given, config);
  checkMode(source, config);
  checkExtraParameters(extra, config);
  const supported =
    resolution === undefined || resolution === 'auto'
      ? chooseDefault(resolutions, DEFAULT_RESOLUTION)
      : resolution;
  checkResolution(supported, source.size, config);
  const clip = native
    ? matchNative({ seconds, fps }, native, source.seconds)
    : planClip({ seconds, fps }, source.seconds);
  const size = source.isSnapped && !native ? snapSize(supported) : supported;
  return {
    parameters: { task: source.task, prompt, size, frames: clip.frames, fps: clip.fps, ...extra },
    seconds: formatSeconds(clip),
    askedSeconds: clip.seconds,
  };
}

function checkMode({ task, areRequired }: Source, { modelId, video }: VideoConfig): void {
  if (video!.tasks.includes(task)) return;
  if (task === 'i2v')
    throw refuseParameter(
      'unsupported_parameter',
      'input_reference',
      `${modelId} generates videos from text only: omit \`input_reference\`.`,
    );
  const remedy = areRequired
    ? 'attach one as `input_reference`'
    : 'use POST /v1/videos with `input_reference`';
  const message = `${modelId} generates videos from an image: ${remedy}.`;
  throw areRequired
    ? refuseParameter('missing_required_parameter', 'input_reference', message)
    : refuseParameter('unsupported_value', 'model', message);
}

function checkResolution(resolution: string, param: string, { modelId, video }: VideoConfig): void {
  if (video!.resolutions.includes(resolution)) return;
  throw new ApiError(
    'resolution_not_supported',
    `\`${param}\` ${resolution.slice(0, 40)} is not supported by ${modelId}: it must be one of ${listSizes(video!.resolutions)}.`,
    { param },
  );
}

interface Wanted {
  seconds: number | undefined;
  fps: number | undefined;
}

interface Clip {
  seconds: number;
  fps: number;
  frames: number;
}

type Native = NonNullable<VideoModel['native']>;

const describeDuration = ({ seconds }: Native): string =>
  `within ${TOLERANCE_SECONDS} s of ${seconds}, the only duration of this model`;

const describeRate = ({ fps }: Native): string => `${fps}, the only frame rate of this model`;

/** A pinned model's clip, with the tolerance of requests for it. */
function matchNative({ seconds, fps }: Wanted, native: Native, param: string): Clip {
  // Rounding of decimal fractions in binary is not a difference.
  const isNear = Math.abs((seconds ?? native.seconds) - native.seconds) <= TOLERANCE_SECONDS + 1e-9;
  if (!isNear)
    throw new ApiError(
      'duration_mismatch',
      `\`${param}\` must be ${describeDuration(native)}, not ${seconds}.`,
      { param },
    );
  if ((fps ?? native.fps) !== native.fps)
    throw new ApiError('fps_mismatch', `\`fps\` must be ${describeRate(native)}, not ${fps}.`, {
      param: 'fps',
    });
  return { ...native, frames: Math.max(1, Math.round(native.seconds * native.fps)) };
}

function planClip({ seconds = DEFAULT_SECONDS, fps = DEFAULT_FPS }: Wanted, param: string): Clip {
  if (seconds > MAX_SECONDS)
    throw refuseParameter(
      'decimal_above_max_value',
      param,
      `\`${param}\` must be above 0 and at most ${MAX_SECONDS}, not ${seconds}.`,
    );
  return { seconds, fps, frames: snapFrames(seconds * fps) };
}

/** The nearest count of the form 4n+1, at least 5 (docs/api.md, "POST /v1/videos"). */
export const snapFrames = (frames: number): number =>
  Math.max(MIN_VIDEO_FRAMES, Math.round((frames - 1) / 4) * 4 + 1);

/** To the millisecond, without trailing zeros (docs/api.md, "Video"). */
const formatSeconds = ({ frames, fps }: Clip): string => String(Number((frames / fps).toFixed(3)));

/** Rounded down to multiples of 32, at least 32. */
export const snapSize = (size: string): string =>
  size
    .split('x')
    .map((side) => Math.max(GRID, Math.floor(Number(side) / GRID) * GRID))
    .join('x');
