/** The owner of prom-client: what a gateway counts. Names and meanings are in docs/metrics.md. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { createGenAIMetrics, type GenAIMetrics } from './gen-ai-metrics.ts';
import {
  type Count,
  createCount,
  createHistogram,
  createTally,
  type Histogram,
  type Tally,
} from './metrics-accumulators.ts';
import { renderOpenMetrics } from './open-metrics.ts';
import { createQueueGauges, type QueueGauges } from './queue-gauges.ts';
import { createSLOMetrics, type SLOMetrics } from './slo-metrics.ts';

const JOB_SECONDS = [0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 86_400];
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export interface GatewayMetrics {
  readonly contentType: string;
  render(): Promise<string>;
  /** With exemplars. */
  renderOpenMetrics(): Promise<string>;
  genAI: GenAIMetrics;
  slo: SLOMetrics;
  queues: QueueGauges;
  /** Labels: route, code (the status; 499 if the client disconnected before the first byte). */
  requests: Tally;
  /** Label: route. */
  duration: Histogram;
  firstByte: Histogram;
  /** Length of transcribed or translated audio. */
  audioSeconds: Counter;
  /** Length of the text of generated speech. */
  speechCharacters: Counter;
  /** Label: direction (`input`, `output`). */
  tokens: Tally;
  inflight: { inc(): void; dec(): void };
  /** Requests waiting for a replica. */
  held: { inc(): void; dec(): void };
  /** Label: outcome (`served`, or why the wait ended). */
  holdTime: Histogram;
  /** Exports deployments' demand as seen by a front, as `berth_demand`. */
  exportDemand(report: () => readonly { namespace: string; name: string; demand: number }[]): void;
  /** Label: reason. */
  engineErrors: Counter<'reason'>;
  /** Label: phase (`before_first_byte`, `mid_stream`). */
  aborted: Counter<'phase'>;
  /** Label: task (`txt2img`, `img2img`); of synchronous requests. */
  images: Counter<'task'>;
  /** Label: task. Of the engine. */
  imageSeconds: Histogram;
  forwarded: Count;
  /** Labels: version (name of the deployment that answered), code. Only with `spec.traffic`. */
  versions: Tally;
  /** Label: to (`engine`, `replica`). */
  resent: Counter<'to'>;
  /** Label: choice (`own`, `peer`, `other`). */
  prefixChoices: Tally;
  /** Prompt tokens cached by engines. */
  cachedInputTokens: Count;
  /** Streams broken by their engine, with `continueStreams`. Label: outcome (`completed`, `failed`, `impossible`). */
  continuedStreams: Counter<'outcome'>;
  /** Label: phase (`starting`, `healthy`, `busy`, `unhealthy`). */
  engines: Gauge<'phase'>;
  redisAway: Gauge;
  admittedWithoutRedis: Counter;
  settlementsLost: Counter;
  /** Label: reason (`invalid`, `refused`, `late`). */
  usageLost: Counter<'reason'>;
  refusedDrains: Counter;
  jobsRunning: { inc(): void; dec(): void };
  /** Abandoned, while the engine still works on them. */
  abandonedJobs: { inc(): void; dec(): void };
  /** Label: outcome (`succeeded`, a failure's code, `stale` or `released`). */
  jobs: Counter<'outcome'>;
  /** Label: modality. */
  queueWait: Histogram;
  jobDuration: Histogram;
  /** Label: outcome (`exported`, `dropped`). */
  traceSpans: Counter<'outcome'>;
  /** Label: outcome (`removed`, `failed`, `dropped`). */
  cleanedObjects: Counter<'outcome'>;
  /** Label: outcome (`ended`, `released`, `forgotten`). */
  sweptRequests: Counter<'outcome'>;
  /** Label: outcome (`delivered`, `failed`). */
  webhookAttempts: Counter<'outcome'>;
  /** Label: type of the event. */
  webhookDuration: Histogram;
}

/** `labels`: of every series, such as the deployment of a sidecar. */
export function createMetrics(labels: Record<string, string> = {}): GatewayMetrics {
  const register = new Registry();
  register.setDefaultLabels(labels);
  const registers = [register];
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 50 });
  const level = (name: string, help: string) => {
    let value = 0;
    new Gauge({
      name: `berth_gateway_${name}`,
      help,
      registers,
      collect() {
        this.set(value);
      },
    });
    return { inc: () => void value++, dec: () => void value-- };
  };
  const counter = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Counter<T>({ name: `berth_gateway_${name}`, help, labelNames, registers });
  return {
    contentType: register.contentType,
    render: () => register.metrics(),
    renderOpenMetrics: () => renderOpenMetrics(register, labels),
    genAI: createGenAIMetrics(register),
    slo: createSLOMetrics(register),
    queues: createQueueGauges(register),
    inflight: level('requests_inflight', 'Requests in progress'),
    held: level('requests_held', 'Requests waiting for a replica'),
    holdTime: createHistogram(register, {
      name: 'berth_gateway_hold_seconds',
      help: 'From the request head to the end of the wait for a replica',
      label: 'outcome',
      bounds: SECONDS,
    }),
    exportDemand: (report) => {
      new Gauge({
        name: 'berth_demand',
        help: 'Slots of a deployment that are or would be in use, on average over the last minute',
        labelNames: ['workspace', 'deployment'],
        registers,
        collect() {
          this.reset();
          for (const { namespace, name, demand } of report())
            this.set({ workspace: namespace, deployment: name }, demand);
        },
      });
    },
    requests: createTally(register, {
      name: 'berth_gateway_requests_total',
      help: 'Requests answered',
      labelNames: ['route', 'code'],
    }),
    duration: createHistogram(register, {
      name: 'berth_gateway_request_duration_seconds',
      help: 'From the request head to the last byte of the response',
      label: 'route',
      bounds: SECONDS,
    }),
    firstByte: createHistogram(register, {
      name: 'berth_gateway_time_to_first_byte_seconds',
      help: 'From the request head to the first byte of the response body',
      label: 'route',
      bounds: SECONDS,
    }),
    tokens: createTally(register, {
      name: 'berth_gateway_tokens_total',
      help: 'Tokens counted against keys',
      labelNames: ['direction'],
    }),
    audioSeconds: counter('audio_seconds_total', 'Seconds of audio that were transcribed or translated', []),
    speechCharacters: counter('speech_characters_total', 'Characters synthesized to speech', []),
    engineErrors: counter('engine_errors_total', 'Requests that failed at the engine', ['reason']),
    aborted: counter('aborted_requests_total', 'Requests whose client disconnected before the end', [
      'phase',
    ]),
    images: counter('images_total', 'Images generated for synchronous requests', ['task']),
    imageSeconds: createHistogram(register, {
      name: 'berth_gateway_image_seconds',
      help: 'Engine time of synchronous image requests',
      label: 'task',
      bounds: SECONDS,
    }),
    forwarded: createCount(register, {
      name: 'berth_gateway_forwarded_requests_total',
      help: 'Requests forwarded to a peer',
    }),
    versions: createTally(register, {
      name: 'berth_gateway_version_requests_total',
      help: 'Requests by the deployment that answered, where several share a URL',
      labelNames: ['version', 'code'],
    }),
    resent: counter(
      'resent_requests_total',
      'Requests sent again since the connection that they reused was closed before any byte of a response',
      ['to'],
    ),
    prefixChoices: createTally(register, {
      name: 'berth_gateway_prefix_choices_total',
      help: 'Requests whose replica was chosen by their prompt',
      labelNames: ['choice'],
    }),
    cachedInputTokens: createCount(register, {
      name: 'berth_gateway_cached_input_tokens_total',
      help: 'Prompt tokens found in the engines’ prefix caches',
    }),
    continuedStreams: counter(
      'continued_streams_total',
      'Streams broken by their engine, by outcome of the continuation',
      ['outcome'],
    ),
    engines: new Gauge({
      name: 'berth_gateway_engines',
      help: 'Engines of this gateway by health',
      labelNames: ['phase'],
      registers,
    }),
    admittedWithoutRedis: counter('admitted_without_redis_total', 'Requests admitted from memory'),
    settlementsLost: counter('settlements_lost_total', 'Usage settlements dropped'),
    usageLost: counter('usage_lost_total', 'Batches of usage that charts lack', ['reason']),
    refusedDrains: counter('refused_drains_total', 'Drain requests with a wrong token'),
    jobsRunning: level('jobs_running', 'Jobs of the queue that run on this replica now'),
    abandonedJobs: level(
      'abandoned_jobs',
      'Jobs that have ended for their clients but still occupy an engine slot',
    ),
    jobs: counter('jobs_total', 'Jobs of the queue that this replica ran', ['outcome']),
    queueWait: createHistogram(register, {
      name: 'berth_gateway_queue_wait_seconds',
      help: 'From a job’s submission to its first claim',
      label: 'modality',
      bounds: JOB_SECONDS,
    }),
    jobDuration: createHistogram(register, {
      name: 'berth_gateway_job_duration_seconds',
      help: 'From a job’s claim to its end',
      label: 'modality',
      bounds: JOB_SECONDS,
    }),
    traceSpans: counter('trace_spans_total', 'Trace spans by outcome', ['outcome']),
    cleanedObjects: counter('cleaned_objects_total', 'Stored objects processed by cleanup', ['outcome']),
    sweptRequests: counter('swept_requests_total', 'Requests processed by the sweeper', ['outcome']),
    webhookAttempts: counter('webhook_attempts_total', 'Attempts to deliver an event', ['outcome']),
    webhookDuration: createHistogram(register, {
      name: 'berth_gateway_webhook_attempt_seconds',
      help: 'From the DNS lookup of a receiver to its response',
      label: 'type',
      bounds: SECONDS,
    }),
    redisAway: new Gauge({
      name: 'berth_gateway_redis_away',
      help: '1 while requests are admitted without Redis',
      registers,
    }),
  };
}
