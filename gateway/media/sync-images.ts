/** Synchronous images: a slot, the charge, the engine, all within one time budget (docs/api.md, "Limits"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { findMediaEngine } from '../../api/media-engines.ts';
import type { ResolvedLimits } from '../../api/model-limits.ts';
import type { Capacity, EngineTarget } from '../capacity/capacity.ts';
import type { EnginePool } from '../engine/engine-call.ts';
import { EngineMemoryError } from '../engine/engine-error.ts';
import { beginEngineSpan } from '../engine/engine-span.ts';
import { addSeed } from '../engine/extra-fields.ts';
import { type GeneratedImage, generateImages } from '../engine/image-call.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import { type BodyMemory, processBodies } from '../http/body-memory.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange, GatewayState } from '../http/exchange.ts';
import { explainMissingEngine } from '../http/unavailability.ts';
import type { ImageRequest } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import { inSpan, type Span } from '../tracing/span.ts';

/** Access to engines, this replica's or a peer's. */
export interface ImageEngines {
  capacity: Capacity;
  findPool: (target: EngineTarget) => EnginePool;
  /** The engine failed a request: its health should be probed. */
  onEngineLost?: () => void;
  /** How long an engine may continue abandoned work; 10 minutes. */
  orphanTimeoutMs?: number;
  /** Of this replica's engine. */
  ranOutOfMemory?: MemoryWatch | null;
  /** For responses and bodies; the process's. */
  memory?: BodyMemory;
}

/** Called with a slot acquired, before the engine starts; throws if the caller cannot pay. */
export type Charge = () => Promise<void>;
/** Called when the engine starts, with its outcome: from then on the work runs to its end, even if the client disconnects. */
export type Begin = (work: Promise<unknown>) => void;

export const ORPHAN_TIMEOUT_MS = 10 * 60_000;
const SATURATED_RETRY_SECONDS = 5;
const TIMEOUTS = { txt2img: 'image_generation_timeout', img2img: 'image_edit_timeout' } as const;

/**
 * Throws ApiError, or ClientDisconnectedError if the client disconnects. In both cases the engine keeps its slot until it is done: it
 * cannot be stopped, and a second request would only wait behind the first.
 */
export async function makeImages(
  request: ImageRequest,
  state: GatewayState,
  {
    services,
    engines,
    charge,
    onBegin,
  }: { services: MediaServices; engines: ImageEngines; charge: Charge; onBegin: Begin },
): Promise<GeneratedImage[]> {
  const { exchange } = state;
  const config = services.config(state);
  const { limits, servedModelName, enginePreset, modelId } = config;
  const budget = startBudget(request, exchange, limits);
  try {
    const target = await inSpan(exchange.span, 'wait for a place', () =>
      findPlace(engines.capacity, state, config),
    );
    try {
      await charge();
      exchange.check();
    } catch (error) {
      target.release();
      throw error;
    }
    if (!target.local) services.metrics.forwarded.inc();
    exchange.peer = target.local ? null : new URL(target.origin).hostname;
    const asked = { route: state.route.name, provider: enginePreset, model: modelId };
    const made = await runAtEngine({
      span: exchange.span && beginEngineSpan(exchange.span, target, asked),
      request: { ...request, parameters: addSeed(request.parameters, enginePreset) },
      exchange,
      services,
      engines,
      target,
      servedModelName,
      maskField: findMediaEngine(enginePreset).maskField ?? 'mask',
      onBegin,
      tenant: state.tenant ?? state.keyHash,
      memory: engines.memory ?? processBodies,
    });
    services.findUsage(state)?.add('images', made.length);
    return made;
  } finally {
    clearTimeout(budget);
  }
}

/** Counts from the request's start, including its upload. */
function startBudget(
  { parameters }: ImageRequest,
  exchange: Exchange,
  { imageTimeoutMs: budgetMs, imageJobTimeoutMs }: ResolvedLimits,
): NodeJS.Timeout {
  const end = () => {
    const message =
      `The image took longer than ${budgetMs / 1000} s: ` +
      `use async=true, which allows up to ${describeDuration(imageJobTimeoutMs)}.`;
    exchange.cancel(new ApiError(TIMEOUTS[parameters.task], message));
  };
  const left = budgetMs - exchange.elapsed();
  if (left <= 0) end();
  return setTimeout(end, Math.max(0, left));
}

function describeDuration(milliseconds: number): string {
  const minutes = milliseconds / 60_000;
  if (!Number.isInteger(minutes)) return `${milliseconds / 1000} s`;
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}

async function findPlace(
  capacity: Capacity,
  state: GatewayState,
  config: GatewayConfig,
): Promise<EngineTarget> {
  const { exchange, keyHash: id, priority = 0 } = state;
  exchange.check();
  const acquisition = await capacity.acquire(exchange.signal, { id, priority });
  if (exchange.canceled && 'target' in acquisition) acquisition.target.release();
  exchange.check();
  if ('target' in acquisition) return acquisition.target;
  if (acquisition.refusal === 'no_pod_available') throw offerQueue(explainMissingEngine(config));
  throw new ApiError(
    'replica_saturated',
    'Every replica is at its concurrency limit: use async=true to queue the request instead.',
    { retryAfter: SATURATED_RETRY_SECONDS },
  );
}

export const offerQueue = ({ code, message, details }: ApiError): ApiError =>
  new ApiError(code, `${message} With async=true the request is queued until a replica is ready.`, details);

interface ImageRun {
  /** Of the call. */
  span: Span | null;
  request: ImageRequest;
  exchange: Exchange;
  services: MediaServices;
  engines: ImageEngines;
  target: EngineTarget;
  servedModelName: string;
  maskField: string;
  onBegin: Begin;
  tenant: string;
  memory: BodyMemory;
}

async function runAtEngine(run: ImageRun): Promise<GeneratedImage[]> {
  const { request, exchange, engines, target, servedModelName, maskField, span } = run;
  const { parameters, images, mask } = request;
  const startedAt = performance.now();
  const linger = new AbortController();
  const lease = run.memory.open(run.tenant);
  const work = generateImages({
    pool: engines.findPool(target),
    target,
    requestId: exchange.requestId,
    trace: span ?? exchange.trace,
    servedModelName,
    parameters,
    images,
    mask,
    maskField,
    signal: linger.signal,
    onRelease: target.release,
    reserve: (bytes) => lease.grow(bytes),
    ranOutOfMemory: target.local ? engines.ranOutOfMemory : null,
  });
  if (span)
    void work.then(
      () => span.end(),
      (error) => span.end(error),
    );
  run.onBegin(work);
  // An abandoned response uses memory until the engine is done with it.
  const free = () => void work.catch(() => {}).finally(() => lease.release());
  if (exchange.res.closed) free();
  else exchange.res.once('close', free);
  try {
    const made = await untilCanceled(exchange, work);
    const { metrics } = run.services;
    metrics.images.inc({ task: parameters.task }, made.length);
    metrics.imageSeconds.observe(parameters.task, (performance.now() - startedAt) / 1000);
    return made;
  } catch (error) {
    if (!exchange.canceled) throw noteFailure(error, run);
    const timer = setTimeout(() => linger.abort(), engines.orphanTimeoutMs ?? ORPHAN_TIMEOUT_MS);
    void work.catch(() => {}).finally(() => clearTimeout(timer));
    throw error;
  }
}

/** The work's outcome, or immediately the reason of a cancel. */
function untilCanceled<T>(exchange: Exchange, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopListening = exchange.onCancel(reject);
    work.then(resolve, reject).finally(stopListening);
  });
}

function noteFailure(error: unknown, { services, engines }: ImageRun): unknown {
  if (!(error instanceof ApiError) || error.status < 500) return error;
  // The engine has done its work: a retry would not find more memory for its response.
  if (error.code === 'temporarily_unavailable') return error.withoutRetry();
  const isMemory = error instanceof EngineMemoryError;
  services.metrics.engineErrors.inc({ reason: isMemory ? 'out_of_memory' : error.code });
  if (!isMemory) engines.onEngineLost?.();
  // Queued requests have a code of their own for it; responses have this one.
  return new ApiError(error.code, `${error.message} (async=true reports the exact cause.)`, error.details);
}
