/** One claimed job from its parameters to the end of its request. */
import type { FailureCode, StoredObject } from '../../api/request.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import {
  type ClaimedJob,
  finishRequest,
  type JobOutcome,
  releaseRequest,
  renewClaim,
} from '../../redis/requests/request-calls.ts';
import { readRequest } from '../../redis/requests/request-record.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { countedAs } from '../../redis/usage/key-usage.ts';
import { EngineUnreachableError } from '../engine/engine-error.ts';
import type { Job } from '../engine/job.ts';
import type { Span } from '../tracing/span.ts';
import { noteAbandoned, noteLetGo } from './abandoned-work.ts';
import { type EngineResult, type InputFile, runEngine } from './engine-job.ts';
import {
  fetchObject,
  isStoreAway,
  type JobContext,
  readJob,
  signResults,
  storeResults,
} from './job-storage.ts';
import { keepLease } from './lease.ts';
import { findLinkPlace } from './link-place.ts';
import { buildSuccess, countJob, JobError, OWN_FAULT, toFailure } from './outcome.ts';
import { expectJobMs, readPace } from './pace.ts';
import { Progress } from './progress.ts';
import type { WorkerServices } from './services.ts';

/** How a run ended: with its request, or releasing it to others. */
export type RunEnd = 'succeeded' | FailureCode | 'stale' | 'released';

type AbandonReason = 'stale' | 'deadline' | 'released';

const FINAL_CALL_TIMEOUT_MS = 4_000;

export interface RunOptions {
  /** Releases the slot: the engine has finished. */
  release: () => void;
  /** This replica is shutting down: other replicas retry failures of its engine. */
  isShuttingDown: () => boolean;
  /** The engine failed: its health is probed. */
  onEngineLost: () => void;
  /** null: no tracing. */
  span: Span | null;
}

export class JobRun {
  /** Resolves at the end in every case; never rejects. */
  readonly ended: Promise<RunEnd>;
  readonly #services: WorkerServices;
  readonly #claimed: ClaimedJob;
  readonly #deadline: number;
  readonly #options: RunOptions;
  readonly #abandoned = new AbortController();
  readonly #startedAt = performance.now();
  /** null until read. */
  #job: Job | null = null;
  #inputs: InputFile[] = [];
  #result: EngineResult | null = null;
  #stored: StoredObject[] = [];
  #progress = new Progress(Number.POSITIVE_INFINITY);
  /** Aborted when the program can no longer wait for Redis. */
  readonly #quit = new AbortController();
  #isFinishing = false;
  #deliveringSince: number | null = null;

  constructor(services: WorkerServices, job: ClaimedJob, options: RunOptions) {
    this.#services = services;
    this.#claimed = job;
    this.#deadline = performance.now() + job.remainingMs;
    this.#options = options;
    this.ended = this.#run();
  }

  /** Releases the job to another worker; `ended` then resolves soon. */
  releaseJob(): void {
    if (this.#isFinishing) setTimeout(() => this.#quit.abort(), FINAL_CALL_TIMEOUT_MS).unref();
    else this.#abandoned.abort('released' satisfies AbandonReason);
  }

  /** Milliseconds since the upload of its results started; 0 before. */
  get uploadingMs(): number {
    return this.#deliveringSince === null ? 0 : performance.now() - this.#deliveringSince;
  }

  async #run(): Promise<RunEnd> {
    const { redis, telemetry } = this.#services;
    const { log } = telemetry;
    const { claim, remainingMs } = this.#claimed;
    const endLease = keepLease({
      remainingMs,
      renew: () => renewClaim(redis, claim, { progress: this.#progress.read() }),
      onLost: (why) => this.#abandoned.abort(why satisfies AbandonReason),
      onError: (err) => log.error({ err, job_id: claim.id }, 'renewing the lease of a job failed'),
    });
    try {
      const outcome = await this.#work();
      if (!outcome) return await this.#abandon();
      this.#isFinishing = true;
      const answer = await retryWhileRedisDown(() => finishRequest(redis, claim, outcome), this.#quit.signal);
      void this.#result?.forget();
      if (answer !== 'stale') {
        countJob(this.#services.telemetry.usage, outcome, {
          spec: this.#job,
          milliseconds: performance.now() - this.#startedAt,
        });
        if (outcome.status === 'succeeded') await this.#countForKey();
        return outcome.status === 'succeeded' ? 'succeeded' : outcome.code;
      }
      await this.#removeUploads();
      return 'stale';
    } catch (error) {
      // It may be finished with only the reply lost: nothing may be removed.
      if (!this.#quit.signal.aborted) log.error({ err: error, job_id: claim.id }, 'finishing a job failed');
      return 'stale';
    } finally {
      endLease();
      await this.#removeFiles();
    }
  }

  /** Its price was charged at submission; failures are refunded. */
  async #countForKey(): Promise<void> {
    const { redis, telemetry } = this.#services;
    const { namespace, id } = this.#claimed.claim;
    const record = await readRequest(redis, namespace, id).catch(() => null);
    const charge = record?.charge;
    if (charge)
      telemetry.usage.addOfKey(countedAs(charge.keyHash, charge.keyName), {
        requests: 1,
        inputTokens: 0,
        outputTokens: 0,
        micros: charge.micros,
      });
  }

  /** null: the run was aborted. */
  async #work(): Promise<JobOutcome | null> {
    const { signal } = this.#abandoned;
    try {
      return await this.#make();
    } catch (error) {
      if (signal.aborted) return null;
      const failure = toFailure(error);
      if (!failure)
        this.#services.telemetry.log.error(
          { err: error, job_id: this.#claimed.claim.id },
          'job failed with an internal error',
        );
      // A force-deleted pod loses its engine before its gateway. And a request that was never received has not failed.
      // A store that is unreachable from here may be reachable from another replica.
      const isBlameless =
        this.#options.isShuttingDown() && (failure?.code === 'upstream_error' || isStoreAway(error));
      if (isBlameless || error instanceof EngineUnreachableError) {
        this.#abandoned.abort('released' satisfies AbandonReason);
        return null;
      }
      const objects = this.#stored.map((object) => ({ object, removeInMs: 0 }));
      return { status: 'failed', ...(failure ?? OWN_FAULT), objects };
    }
  }

  async #make(): Promise<JobOutcome> {
    let job: Job;
    try {
      job = this.#check(await readJob(this.#storage, this.#claimed.params));
      this.#job = job;
      void this.#watchProgress(job);
      await this.#fetchInputs(job);
    } catch (error) {
      this.#options.release();
      throw error;
    }
    const services = this.#services;
    this.#result = await runEngine(job, {
      pool: services.engine.pool,
      enginePreset: services.config().enginePreset,
      servedModelName: services.config().servedModelName,
      modelId: services.config().modelId,
      span: this.#options.span,
      requestId: this.#claimed.claim.id,
      inputs: this.#inputs,
      spool: services.storage.spool,
      beginWork: services.engine.beginWork,
      ranOutOfMemory: services.engine.ranOutOfMemory,
      isEngineLost: services.engine.isLost,
      onEngineLost: this.#options.onEngineLost,
      onProgress: (percent) => this.#progress.report(percent),
      signal: this.#abandoned.signal,
      onRelease: this.#options.release,
      onAbandon: () => noteAbandoned(services, this.#claimed.claim.id),
      onLetGo: (end) => noteLetGo(services, this.#claimed.claim.id, end),
      timing: services.timing,
    });
    this.#deliveringSince = performance.now();
    const stored = await storeResults(this.#storage, job.credential, this.#result.files);
    this.#stored = stored.objects;
    const links = await signResults(this.#storage, stored, job.kind, findLinkPlace(services.config()));
    return buildSuccess(stored, { credential: job.credential, links, limits: services.config().limits });
  }

  #check(job: Job | null): Job {
    const { kind } = this.#services.config();
    if (job?.kind === (kind === 'Video' ? 'video' : 'image')) return job;
    throw new JobError('invalid_input', 'This version of the deployment cannot run the request.');
  }

  async #fetchInputs({ inputs }: Job): Promise<void> {
    for (const { object, bytes, contentType, fileName } of inputs) {
      const file = await fetchObject(this.#storage, object, bytes);
      this.#inputs.push({ ...file, contentType, fileName });
    }
  }

  /** Estimates the job's duration from its deployment's pace, and records its queue wait. */
  async #watchProgress(job: Job): Promise<void> {
    const { redis, telemetry, config } = this.#services;
    const { claim, attempt } = this.#claimed;
    this.#progress = new Progress(expectJobMs(job));
    const [pace, record] = await Promise.all([
      readPace(redis, claim.namespace, config().name),
      readRequest(redis, claim.namespace, claim.id),
    ]).catch(() => [null, null]);
    if (pace) this.#progress.expect(pace);
    if (record?.startedAt && attempt === 1)
      telemetry.metrics.queueWait.observe(job.kind, (record.startedAt - record.queuedAt) / 1_000);
  }

  /** After an abort: the request continues, or has ended, without this run. */
  async #abandon(): Promise<RunEnd> {
    const { redis } = this.#services;
    const why = this.#abandoned.signal.reason as AbandonReason;
    void this.#result?.forget();
    if (why === 'released')
      // If this fails, the lease expires.
      await retryWhileRedisDown(
        () => releaseRequest(redis, this.#claimed.claim),
        AbortSignal.timeout(FINAL_CALL_TIMEOUT_MS),
      ).catch(() => {});
    await this.#removeUploads();
    return why === 'deadline' ? 'model_timeout' : why;
  }

  /** Immediately; they are registered for later removal anyway. */
  async #removeUploads(): Promise<void> {
    const objects = this.#stored;
    if (objects.length === 0) return;
    const { namespace } = this.#claimed.claim;
    const register = () => registerObjects(this.#services.redis, namespace, { objects, removeInMs: 0 });
    await retryWhileRedisDown(register, AbortSignal.timeout(FINAL_CALL_TIMEOUT_MS)).catch(() => {});
  }

  get #storage(): JobContext {
    const { redis, storage } = this.#services;
    return {
      redis,
      storage,
      claim: this.#claimed.claim,
      remainingMs: () => Math.max(0, this.#deadline - performance.now()),
      signal: this.#abandoned.signal,
      isShuttingDown: this.#options.isShuttingDown,
      span: this.#options.span,
    };
  }

  async #removeFiles(): Promise<void> {
    const results = this.#result?.files.map(({ file }) => file) ?? [];
    await Promise.all([...this.#inputs, ...results].map((file) => file.remove().catch(() => {})));
  }
}
