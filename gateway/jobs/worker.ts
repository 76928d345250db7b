/** Runs queued jobs on this replica's free slots, which it shares with synchronous requests. */
import { randomBytes } from 'node:crypto';
import { isRedisAway } from '../../redis/client.ts';
import { type ClaimedJob, claimRequest } from '../../redis/requests/request-calls.ts';
import { countWaiting } from '../../redis/requests/request-record.ts';
import type { Span } from '../tracing/span.ts';
import { JobRun } from './job-run.ts';
import { beginJobSpan, endJobSpan } from './job-span.ts';
import type { WorkerServices } from './services.ts';
import { RELEASE_BEFORE_END_MS, WindDown } from './wind-down.ts';

export interface Worker {
  /** Polls the queue soon. `isCertain`: something was just queued. */
  wake(isCertain?: boolean): void;
  /** Claims nothing more; jobs that have not ended shortly before `withinMs` are released. */
  windDown(withinMs: number): void;
  /** Claims again. */
  resume(): void;
  /** Winds down and waits for the end; resolves within `withinMs`. */
  stop(withinMs: number): Promise<void>;
}

const POLL_INTERVAL_MS = 1_000;
/** Queued jobs are announced: for an idle worker, polling is only a fallback. */
const MAX_POLL_INTERVAL_MS = 8_000;
const RETRY_MS = 200;
/** Long enough for two health probes: the second finds the engine unhealthy if it still returns errors. */
const ENGINE_COOLDOWN_MS = 1_500;
/** Jobs beyond the slots: the engine is done with them, and their results are being stored. */
const MAX_EXTRA_DELIVERIES = 2;

/** For deployments of kind Image and Video. */
export const startWorker = (options: WorkerServices): Worker => new QueueWorker(options);

class QueueWorker implements Worker {
  readonly #options: WorkerServices;
  readonly #runs = new Set<JobRun>();
  /** Reused until there is a reply, since a claim without a reply may have succeeded. */
  #token = newToken();
  /** The claim with this token got no reply. What it claimed is no longer queued. */
  #isUnanswered = false;
  #isClaiming = false;
  #isAskedAgain = false;
  #pollMs = POLL_INTERVAL_MS;
  #isProbing = false;
  readonly #windDown = new WindDown();
  #isStopped = false;
  /** Set while the worker backs off from an engine that failed. */
  #rest: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: WorkerServices) {
    this.#options = options;
    options.slots.onCrossing(() => {
      if (!this.#isProbing && !options.slots.isFull) this.wake();
    });
    this.#schedule(0);
  }

  wake(isCertain = false): void {
    if (this.#isClaiming) this.#isAskedAgain = true;
    else void this.#claim(isCertain);
  }

  windDown(withinMs: number): void {
    this.#windDown.start(withinMs, () => {
      for (const run of this.#runs) run.releaseJob();
    });
  }

  resume(): void {
    if (this.#isStopped) return;
    this.#windDown.cancel();
    this.wake();
  }

  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#poll);
    clearTimeout(this.#rest);
    this.windDown(withinMs);
    const all = async () => {
      while (this.#isClaiming || this.#runs.size > 0) {
        await Promise.all([...this.#runs].map(({ ended }) => ended));
        await pause(RETRY_MS / 4);
      }
    };
    await Promise.race([all(), pause(Math.max(withinMs, RELEASE_BEFORE_END_MS))]);
    this.#windDown.close();
  }

  get #mayClaim(): boolean {
    const { slots, config, engine, storage, pod } = this.#options;
    return (
      !this.#windDown.isOn &&
      !this.#rest &&
      !slots.isFull &&
      engine.isReady() &&
      !config().paused &&
      !config().cordoned.includes(pod) &&
      countBlockingRuns(this.#runs, () => storage.spool) <
        (slots.limit ?? Number.POSITIVE_INFINITY) + MAX_EXTRA_DELIVERIES
    );
  }

  #schedule(ms: number): void {
    clearTimeout(this.#poll);
    if (this.#isStopped) return;
    this.#poll = setTimeout(() => this.wake(), ms);
    this.#poll.unref();
  }

  /** Claims nothing until the engine's health is known: a dead one would fail the whole queue, job by job. */
  #doubtEngine(): void {
    this.#options.engine.suspect();
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      this.wake();
    }, ENGINE_COOLDOWN_MS);
    this.#rest.unref();
  }

  /** Claims until the queue is empty or no slot is free. */
  async #claim(isCertain: boolean): Promise<void> {
    this.#isClaiming = true;
    let delayMs = 0;
    try {
      let mayWait = isCertain || (await this.#isAnyWaiting()) || this.#isUnanswered;
      const isQuiet = !mayWait && this.#mayClaim && this.#runs.size === 0;
      delayMs = this.#pollMs = isQuiet ? Math.min(2 * this.#pollMs, MAX_POLL_INTERVAL_MS) : POLL_INTERVAL_MS;
      while (mayWait && this.#mayClaim) mayWait = await this.#claimOne();
    } catch (error) {
      delayMs = RETRY_MS;
      if (!isRedisAway(error)) this.#options.telemetry.log.error({ err: error }, 'claiming a job failed');
    }
    this.#isClaiming = false;
    const isAskedAgain = this.#isAskedAgain;
    this.#isAskedAgain = false;
    if (isAskedAgain && !this.#isStopped) this.wake();
    // Jittered, so that replicas do not all ask at the same moment.
    else this.#schedule(delayMs * (1 + Math.random()));
  }

  /** Checked first, since a slot taken for a check is unavailable to others meanwhile. */
  async #isAnyWaiting(): Promise<boolean> {
    if (!this.#mayClaim) return false;
    const { namespace, name } = this.#options.config();
    return (await countWaiting(this.#options.redis, namespace, name)) > 0;
  }

  /** False: the queue is empty. */
  async #claimOne(): Promise<boolean> {
    const { slots, redis, config, pod, telemetry } = this.#options;
    const { tracer } = telemetry;
    const { namespace, name: deployment } = config();
    const release = slots.hold();
    if (!release) return false;
    let job: ClaimedJob | null = null;
    try {
      this.#isUnanswered = true;
      job = await claimRequest(redis, { namespace, deployment, token: this.#token, pod });
      this.#isUnanswered = false;
      this.#token = newToken();
    } finally {
      if (!job) {
        this.#isProbing = true;
        release();
        this.#isProbing = false;
      }
    }
    if (!job) return false;
    const leave = slots.countBusy(release);
    this.#start(job, leave, tracer ? await beginJobSpan(tracer, redis, job) : null);
    return true;
  }

  #start(job: ClaimedJob, release: () => void, span: Span | null): void {
    const { telemetry, config, jobs } = this.#options;
    const { metrics, log } = telemetry;
    const startedAt = performance.now();
    const run = new JobRun(this.#options, job, {
      release,
      isShuttingDown: () => this.#windDown.isOn,
      onEngineLost: () => this.#doubtEngine(),
      span,
    });
    this.#runs.add(run);
    jobs.running++;
    metrics.jobsRunning.inc();
    if (this.#windDown.isOn) run.releaseJob();
    void run.ended.then((outcome) => {
      if (span) endJobSpan(span, outcome);
      this.#runs.delete(run);
      jobs.running--;
      metrics.jobsRunning.dec();
      metrics.jobs.inc({ outcome });
      const modality = config().kind === 'Video' ? 'video' : 'image';
      const durationMs = performance.now() - startedAt;
      metrics.jobDuration.observe(modality, durationMs / 1_000);
      const { claim, attempt } = job;
      const trace_id = span?.traceId;
      log.info(
        { job_id: claim.id, trace_id, modality, outcome, attempt, duration_ms: Math.round(durationMs) },
        'job',
      );
      this.wake();
    });
  }
}

const newToken = (): string => randomBytes(16).toString('hex');
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

/** Results that take longer to upload are waiting for an unavailable store. */
const STALLED_DELIVERY_MS = 60_000;
/** Their files are on this replica's disk, which others need. */
const MAX_STALLED_DELIVERIES = 16;

/** An unavailable store delays only its own results, as long as there is disk space. */
export function countBlockingRuns(
  runs: Iterable<{ uploadingMs: number }>,
  spool: () => { isHalfFree: boolean },
): number {
  const all = [...runs];
  const waiting = all.filter(({ uploadingMs }) => uploadingMs > STALLED_DELIVERY_MS).length;
  return waiting > 0 && spool().isHalfFree
    ? all.length - Math.min(waiting, MAX_STALLED_DELIVERIES)
    : all.length;
}
