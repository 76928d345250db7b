/** Runs a job on the engine, images and videos alike. */
import { Readable } from 'node:stream';
import { findMediaEngine } from '../../api/media-engines.ts';
import { beginEngineSpan } from '../engine/engine-span.ts';
import { addSeed } from '../engine/extra-fields.ts';
import { generateImages } from '../engine/image-call.ts';
import type { ImageJob, Job, JobInput, VideoJob } from '../engine/job.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import { type AbandonedEnd, type EngineCalls, generateVideo } from '../engine/video-call.ts';
import type { WorkProgress } from '../health/watched-dispatcher.ts';
import { isEngineFault } from '../run/engine-run.ts';
import type { Spool, SpooledFile } from '../storage/spool.ts';
import type { Span } from '../tracing/span.ts';
import { JobError } from './outcome.ts';

export interface InputFile extends SpooledFile, Pick<JobInput, 'contentType' | 'fileName'> {}

/** One result on disk, not yet stored. */
export interface ResultFile {
  file: SpooledFile;
  /** Such as `png`. */
  extension: string;
  contentType: string;
}

export interface EngineRunOptions extends EngineCalls {
  /** Determines its quirks. */
  enginePreset: string;
  /** The name that callers use. */
  modelId: string;
  /** Span of the job; null if tracing is off. */
  span: Span | null;
  inputs: readonly InputFile[];
  spool: Spool;
  /** Reports a job to the engine's health check, which cannot see it by its connections. */
  beginWork?: () => WorkProgress;
  ranOutOfMemory?: MemoryWatch | null;
}

export interface EngineResult {
  files: ResultFile[];
  /** Removes what the engine keeps; never throws. */
  forget(): Promise<void>;
}

const MAX_RESULT_BYTES = 5 * 1024 ** 3;
/** How long an engine may work on images of an aborted job before the connection is closed. */
const RELEASE_TIMEOUT_MS = 10 * 60_000;

/** Throws ApiError, UploadError, JobError or the signal's reason, and then leaves nothing on disk. */
export async function runEngine(job: Job, run: EngineRunOptions): Promise<EngineResult> {
  if (run.signal.aborted) {
    run.onRelease();
    throw run.signal.reason;
  }
  const asked = { route: MEDIA_ROUTE, provider: run.enginePreset, model: run.modelId };
  const span = run.span && beginEngineSpan(run.span, null, asked);
  const traced = { ...run, trace: span };
  try {
    const result = await (job.kind === 'image' ? makeImages(job, traced) : makeVideo(job, traced));
    span?.end();
    return result;
  } catch (error) {
    span?.end(error);
    if (isEngineFault(error)) run.onEngineLost();
    throw error;
  }
}

/** Also the operation name for videos. */
const MEDIA_ROUTE = 'image_generations';

async function makeVideo({ parameters }: VideoJob, run: EngineRunOptions): Promise<EngineResult> {
  const { inputs: references } = run;
  if (parameters.task === 'i2v' && references.length === 0) {
    run.onRelease();
    throw new JobError('invalid_input', 'The reference image of the request is missing.');
  }
  const { deleteEndsWork, referencesField } = findMediaEngine(run.enginePreset);
  const work = run.beginWork?.();
  let percent = 0;
  const onProgress = (now: number) => {
    if (now > percent) work?.progress();
    percent = Math.max(percent, now);
    run.onProgress(now);
  };
  let isAbandoned = false;
  const onAbandon = () => {
    isAbandoned = true;
    run.onAbandon?.();
  };
  const onLetGo = (end: AbandonedEnd) => {
    work?.end(END_OUTCOMES[end]);
    run.onLetGo?.(end);
  };
  try {
    const { file, forget } = await generateVideo({
      ...run,
      deleteEndsWork,
      parameters: addSeed(parameters, run.enginePreset),
      references,
      referencesField,
      onProgress,
      onAbandon,
      onLetGo,
      hold: (source, signal) => run.spool.hold(source, { maxBytes: MAX_RESULT_BYTES, signal }),
    });
    work?.end('good');
    return { files: [{ file, extension: 'mp4', contentType: 'video/mp4' }], forget };
  } catch (error) {
    // Abandoned work ends when the engine drops it.
    if (!run.signal.aborted) work?.end(isEngineFault(error) ? 'fault' : 'neutral');
    else if (!isAbandoned) work?.end('neutral');
    throw error;
  }
}

const END_OUTCOMES = { finished: 'good', gone: 'neutral', stuck: 'stuck' } as const;

async function makeImages({ parameters }: ImageJob, run: EngineRunOptions): Promise<EngineResult> {
  const { signal, spool } = run;
  // The engine would continue after a closed connection, and the next job would wait for it.
  const cut = new AbortController();
  const letGo = () => {
    run.onAbandon?.();
    setTimeout(() => cut.abort(signal.reason), run.timing?.releaseTimeoutMs ?? RELEASE_TIMEOUT_MS).unref();
    const end = () => run.onLetGo?.(cut.signal.aborted ? 'stuck' : 'finished');
    void answer.then(end, end);
  };
  signal.addEventListener('abort', letGo, { once: true });
  const answer = generateImages({
    ...run,
    target: { pathPrefix: '', headers: {} },
    parameters: addSeed(parameters, run.enginePreset),
    // Jobs have no mask: they are supported only for synchronous requests.
    files: { images: run.inputs, mask: null, maskField: 'mask' },
    signal: cut.signal,
  });
  // A response that has ended, even by failing, has nothing to release.
  const images = await untilAborted(answer, signal).finally(() => signal.removeEventListener('abort', letGo));

  const files: ResultFile[] = [];
  try {
    for (const { bytes, contentType } of images) {
      const file = await spool.hold(Readable.from([bytes]), { maxBytes: MAX_RESULT_BYTES, signal });
      const [, kind = ''] = contentType.split('/');
      files.push({ file, extension: kind === 'jpeg' ? 'jpg' : kind, contentType });
    }
    return { files, forget: async () => {} };
  } catch (error) {
    await Promise.all(files.map(({ file }) => file.remove()));
    throw error;
  }
}

/** The promise's result, or the signal's reason as soon as there is one. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
