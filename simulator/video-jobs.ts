/** The engine's videos: each waits for its turn, runs for its time, and is kept until it is deleted. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Activity } from './activity.ts';
import { readUnixSeconds } from './answer.ts';
import { EngineError } from './errors.ts';
import { BROKEN, OUT_OF_MEMORY } from './faults.ts';
import { makeFilm } from './films.ts';
import type { VideoStatus } from './media-habits.ts';
import type { Size } from './pictures.ts';
import type { Fault } from './settings.ts';
import type { Slots } from './slots.ts';

export interface VideoParameters {
  prompt: string;
  size: Size;
  frames: number;
  fps: number;
  /** The first frame, as PNG; gone once the job has ended. */
  picture: Buffer;
  /** How long the job takes, if making the video takes no longer. */
  seconds: number;
  fault: Fault | null;
  /** Found in the middle of the work. */
  failure: EngineError | null;
}

export class VideoJob {
  readonly id = `video_gen_${randomUUID().replaceAll('-', '')}`;
  readonly createdAt = readUnixSeconds();
  readonly parameters: VideoParameters;
  readonly stopping = new AbortController();
  status: VideoStatus = 'queued';
  /** Unix seconds. */
  endedAt: number | null = null;
  film: Buffer | null = null;
  error: EngineError | null = null;
  /** performance.now(). */
  #startedAt = 0;
  #lastProgress = 0;

  constructor(parameters: VideoParameters) {
    this.parameters = parameters;
  }

  get isEnded(): boolean {
    return this.status === 'completed' || this.status === 'failed';
  }

  /** What the job keeps in memory. */
  get bytes(): number {
    const { prompt, picture } = this.parameters;
    return prompt.length * 2 + picture.length + (this.film?.length ?? 0);
  }

  /** Percent. */
  get progress(): number {
    if (this.status !== 'in_progress') return this.#lastProgress;
    const share = (performance.now() - this.#startedAt) / 1000 / Math.max(this.parameters.seconds, 0.001);
    return Math.floor(100 * Math.min(share, this.parameters.fault?.kind === 'hang' ? 0.5 : 0.99));
  }

  start(): void {
    this.status = 'in_progress';
    this.#startedAt = performance.now();
  }

  end(outcome: Buffer | EngineError): void {
    this.endedAt = readUnixSeconds();
    this.parameters.picture = Buffer.alloc(0);
    if (Buffer.isBuffer(outcome)) {
      this.film = outcome;
      this.#lastProgress = 100;
      this.status = 'completed';
    } else {
      this.error = outcome;
      this.#lastProgress = this.progress;
      this.status = 'failed';
    }
  }
}

const MAX_UNENDED = 256;
const MAX_KEPT = 1000;
const MAX_BYTES = 256 * 1024 * 1024;

interface Surroundings {
  slots: Slots;
  activity: Activity;
  /** Ends the process, for the fault `exit`. */
  exit: () => void;
}

export class VideoJobs {
  readonly #surroundings: Surroundings;
  /** Oldest first. */
  readonly #jobs = new Map<string, VideoJob>();
  /** The jobs that have not ended, and how each leaves the queue. */
  readonly #leaving = new Map<VideoJob, () => void>();
  readonly #runs = new Set<Promise<void>>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get(id: string): VideoJob | undefined {
    return this.#jobs.get(id);
  }

  /** Throws an EngineError when too much waits already. */
  add(parameters: VideoParameters): VideoJob {
    const { slots, activity } = this.#surroundings;
    this.#trim();
    if (this.#leaving.size >= MAX_UNENDED || this.#countBytes() >= MAX_BYTES)
      throw new EngineError(503, 'ServiceUnavailableError', 'Too many videos are waiting.');
    const job = new VideoJob(parameters);
    this.#jobs.set(job.id, job);
    const release = activity.enter();
    const leave = slots.enter(() => {
      this.#leaving.set(job, () => {});
      const run = this.#run(job, release).finally(() => this.#runs.delete(run));
      this.#runs.add(run);
    });
    if (job.status === 'queued')
      this.#leaving.set(job, () => {
        leave();
        release();
      });
    return job;
  }

  /** Forgets a video; one that has not ended is aborted. */
  remove(job: VideoJob): void {
    this.#jobs.delete(job.id);
    if (job.isEnded) return;
    this.#surroundings.activity.aborted++;
    this.#giveUp(job);
  }

  /** Forgets a video, but continues it anyway. */
  forget(job: VideoJob): void {
    this.#jobs.delete(job.id);
  }

  /** Aborts everything that has not ended, and waits for its end. */
  async stop(): Promise<void> {
    for (const job of this.#leaving.keys()) this.#giveUp(job);
    await Promise.all(this.#runs);
  }

  #giveUp(job: VideoJob): void {
    job.stopping.abort();
    this.#leaving.get(job)?.();
    this.#leaving.delete(job);
  }

  async #run(job: VideoJob, release: () => void): Promise<void> {
    const { slots, activity } = this.#surroundings;
    job.start();
    try {
      job.end(await this.#produce(job));
      activity.totals.answered++;
    } catch (error) {
      const failure =
        error instanceof EngineError ? error : new EngineError(500, 'InternalServerError', String(error));
      job.end(failure);
    } finally {
      this.#leaving.delete(job);
      release();
      slots.leave();
      this.#trim();
    }
  }

  async #produce({ parameters, stopping: { signal } }: VideoJob): Promise<Buffer> {
    const due = parameters.seconds * 1000;
    if (parameters.failure) {
      await setTimeout(due / 2, undefined, { signal });
      throw parameters.failure;
    }
    switch (parameters.fault?.kind) {
      case 'hang':
        await once(signal, 'abort');
        throw new Error('given up');
      case 'exit':
        await setTimeout(due / 2, undefined, { signal });
        this.#surroundings.exit();
        throw BROKEN;
      case 'oom':
        await setTimeout(due / 2, undefined, { signal });
        throw OUT_OF_MEMORY;
      case 'error-frame':
        await setTimeout(due / 2, undefined, { signal });
        throw BROKEN;
      default:
        return (await Promise.all([makeFilm(parameters, signal), setTimeout(due, undefined, { signal })]))[0];
    }
  }

  #countBytes(): number {
    let sum = 0;
    for (const { bytes } of this.#jobs.values()) sum += bytes;
    return sum;
  }

  /** Forgets the oldest of those that have ended, until the rest is in bounds. */
  #trim(): void {
    let bytes = this.#countBytes();
    for (const job of this.#jobs.values()) {
      if (this.#jobs.size <= MAX_KEPT + this.#leaving.size && bytes <= MAX_BYTES) return;
      if (!job.isEnded) continue;
      bytes -= job.bytes;
      this.#jobs.delete(job.id);
    }
  }
}
