/** One video at an engine, from its submission to its bytes on disk. */
import { setTimeout as wait } from 'node:timers/promises';
import { ApiError } from '../http/error-response.ts';
import type { SpooledFile } from '../storage/spool.ts';
import { UploadError } from '../storage/upload-error.ts';
import type { TraceContext } from '../tracing/span.ts';
import { EngineConnectionError } from '../upstream/engine-request.ts';
import type { EnginePool } from './engine-call.ts';
import { describeConnectionLoss } from './engine-error.ts';
import type { VideoParameters } from './job.ts';
import {
  buildVideoForm,
  buildVideoJSON,
  deleteVideo,
  type EngineVideo,
  openContent,
  pollVideo,
  type ReferenceFile,
  submitVideo,
} from './video-client.ts';

/** What any run on an engine needs and returns. */
export interface EngineCalls {
  pool: EnginePool;
  requestId: string;
  /** Trace of the call. */
  trace?: TraceContext | null;
  /** The engine's own name of the model. */
  servedModelName: string;
  isEngineLost: () => boolean;
  /** The engine failed: its health should be probed. */
  onEngineLost: () => void;
  /** Percent, as reported by the engine. */
  onProgress: (percent: number) => void;
  /** Aborts the job: the engine is asked to stop, and polled until it has. */
  signal: AbortSignal;
  /** The engine has released the job; called exactly once, perhaps after the call has ended. */
  onRelease: () => void;
  /** The call ended before the engine's work on it. */
  onAbandon?: () => void;
  /** How that work ended; after `onAbandon`, before `onRelease`. */
  onLetGo?: (end: AbandonedEnd) => void;
  timing?: Partial<VideoTiming>;
}

/** `finished`: the engine completed it. `gone`: it dropped the work, or is gone itself. `stuck`: it did not end in time. */
export type AbandonedEnd = 'finished' | 'gone' | 'stuck';

export interface VideoCall extends EngineCalls {
  /** A DELETE stops the engine's work on a video; otherwise nothing does. */
  deleteEndsWork: boolean;
  parameters: VideoParameters;
  references: readonly ReferenceFile[];
  /** The engine's field for several. */
  referencesField: string;
  /** Streams the video to disk. */
  hold(source: AsyncIterable<Buffer>, signal: AbortSignal): Promise<SpooledFile>;
}

export interface VideoTiming {
  /** The first poll interval; each next is 1.5 times as long. */
  initialPollIntervalMs: number;
  maxPollIntervalMs: number;
  /** How long an engine that still works on an aborted job is polled. */
  releaseTimeoutMs: number;
}

export interface GeneratedVideo {
  file: SpooledFile;
  /** Deletes the engine's copy if possible; never throws. */
  forget(): Promise<void>;
}

const TIMING: VideoTiming = {
  initialPollIntervalMs: 50,
  maxPollIntervalMs: 1_000,
  releaseTimeoutMs: 10 * 60_000,
};
const POLL_GROWTH = 1.5;
/** Consecutive, while the engine is reachable. */
const MAX_POLL_FAILURES = 5;
const CONTENT_ATTEMPTS = 3;
/** In errors of engines that accept a form only with a file in it, or no form at all. */
const REQUIRES_JSON = /input_reference|\bfile\b|multipart|form|content.?type|json/i;

const ENGINE_RESTARTED = 'The engine restarted and lost the video.';
const ENGINE_LOST = 'The engine was lost while it generated the video.';

/**
 * The finished video on disk. Throws ApiError (an EngineMemoryError if the engine ran out of memory, an
 * EngineUnreachableError if it never received the request), UploadError if the disk is full, or the signal's reason.
 */
export async function generateVideo(call: VideoCall): Promise<GeneratedVideo> {
  const timing = { ...TIMING, ...call.timing };
  let video: EngineVideo | null = null;
  try {
    video = await submit(call);
    video = await follow(call, video, timing);
  } catch (error) {
    if (video) void watchRelease(call, video.id, timing);
    else call.onRelease();
    throw toRunError(call, error, video !== null);
  }
  call.onRelease();
  const { id, failure } = video;
  const forget = () => deleteVideo(call.pool, id).then(ignore, ignore);
  try {
    if (failure) throw failure;
    return { file: await fetchContent(call, id), forget };
  } catch (error) {
    void forget();
    throw toRunError(call, error, true);
  }
}

const ignore = () => {};

async function submit(call: VideoCall): Promise<EngineVideo> {
  const { pool, servedModelName, parameters, references: files, referencesField: name } = call;
  try {
    return await submitVideo(pool, buildVideoForm(servedModelName, parameters, { files, name }), call);
  } catch (error) {
    const isRefusal = error instanceof ApiError && (error.status === 400 || error.status === 422);
    if (!isRefusal || files.length > 0 || !REQUIRES_JSON.test(error.message)) throw error;
    return await submitVideo(pool, buildVideoJSON(servedModelName, parameters), call).catch((second) => {
      call.signal.throwIfAborted();
      // The error of the form is more useful than "JSON not accepted".
      throw second instanceof ApiError ? error : second;
    });
  }
}

/** Polls until the video has ended. */
async function follow(call: VideoCall, first: EngineVideo, timing: VideoTiming): Promise<EngineVideo> {
  const { pool, signal } = call;
  let video = first;
  let delayMs = timing.initialPollIntervalMs;
  let failures = 0;
  while (video.state === 'working') {
    call.onProgress(video.progress);
    await wait(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    delayMs = Math.min(delayMs * POLL_GROWTH, timing.maxPollIntervalMs);
    try {
      const next = await pollVideo(pool, video.id, signal);
      if (!next) throw new EngineRestarted();
      video = next;
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof EngineRestarted) throw new ApiError('upstream_error', ENGINE_RESTARTED);
      call.onEngineLost();
      // A slow engine is waited for, up to the job's own deadline.
      if (!isSlow(error)) failures++;
      if (failures > MAX_POLL_FAILURES || call.isEngineLost()) throw error;
    }
  }
  return video;
}

class EngineRestarted extends Error {}

const isSlow = (error: unknown): boolean => error instanceof EngineConnectionError && error.isTimeout;

async function fetchContent(call: VideoCall, id: string): Promise<SpooledFile> {
  const { pool, signal } = call;
  for (let attempt = 1; ; attempt++) {
    try {
      const file = await call.hold(await openContent(pool, id, signal), signal);
      if (file.bytes > 0) return file;
      await file.remove();
      throw new ApiError('upstream_error', 'The engine returned an empty video.');
    } catch (error) {
      signal.throwIfAborted();
      const isFinal = error instanceof UploadError || error instanceof ApiError;
      if (isFinal || attempt === CONTENT_ATTEMPTS || call.isEngineLost())
        throw isFinal ? error : new EngineConnectionError(error);
    }
  }
}

/** After the video is abandoned. The slot is freed only with the engine, or the next job would wait for it there. */
async function watchRelease(call: VideoCall, id: string, timing: VideoTiming): Promise<void> {
  call.onAbandon?.();
  const end = await awaitRelease(call, id, timing);
  call.onLetGo?.(end);
  call.onRelease();
}

/** Bounded, since an engine may report progress forever. Never throws. */
async function awaitRelease(call: VideoCall, id: string, timing: VideoTiming): Promise<AbandonedEnd> {
  const { pool, deleteEndsWork, isEngineLost } = call;
  const end = performance.now() + timing.releaseTimeoutMs;
  while (performance.now() < end) {
    if (isEngineLost()) return 'gone';
    try {
      // If a DELETE stops nothing, it would only hide the engine's progress.
      if (deleteEndsWork && (await deleteVideo(pool, id))) return 'gone';
      const video = await pollVideo(pool, id);
      if (!video) return 'gone';
      if (video.state !== 'working') {
        void deleteVideo(pool, id).catch(ignore);
        return 'finished';
      }
    } catch (error) {
      if (error instanceof EngineConnectionError && error.isRefused && !error.isTimeout) return 'gone';
    }
    await wait(timing.maxPollIntervalMs, undefined, { ref: false });
  }
  return 'stuck';
}

function toRunError(call: VideoCall, error: unknown, isSubmitted: boolean): unknown {
  if (!(error instanceof EngineConnectionError)) return error;
  call.onEngineLost();
  return isSubmitted
    ? new ApiError('upstream_error', ENGINE_LOST)
    : describeConnectionLoss(error.cause, false);
}
