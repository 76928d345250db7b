/** Synchronous images: a slot, the charge, the engine, all within one time budget (docs/api.md, "Limits"). */
import { findMediaEngine } from '../../api/media-engines.ts';
import type { ResolvedLimits } from '../../api/model-limits.ts';
import type { Share, Shares } from '../../kit/shares.ts';
import type { Capacity, EngineTarget } from '../capacity/capacity.ts';
import type { EnginePool } from '../engine/engine-call.ts';
import { addSeed } from '../engine/extra-fields.ts';
import { type GeneratedImage, generateImages } from '../engine/image-call.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import { processBodies } from '../http/body-memory.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange, GatewayState } from '../http/exchange.ts';
import type { ImageRequest } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import {
  acquireTarget,
  type EngineServices,
  enterTarget,
  noteFailure,
  startBudget,
  untilCanceled,
} from '../run/engine-run.ts';
import type { Span } from '../tracing/span.ts';

/** Access to engines, this replica's or a peer's. */
export interface ImageEngines {
  capacity: Capacity;
  findPool: (target: EngineTarget) => EnginePool;
  /** The engine failed a request: its health should be probed. */
  onEngineLost?: () => void;
  /** How long an engine may continue abandoned work; 10 minutes (decision 0033). */
  orphanTimeoutMs?: number;
  /** Memory watch of this replica's engine. */
  ranOutOfMemory?: MemoryWatch | null;
  /** For responses and bodies; the process's. */
  memory?: Shares;
}

/** Called with a slot acquired, before the engine starts; throws if the caller cannot pay. */
export type Charge = () => Promise<void>;
/** Called when the engine starts, with its outcome: from then on the work runs to its end, even if the client disconnects. */
export type Begin = (work: Promise<unknown>) => void;

export const ORPHAN_TIMEOUT_MS = 10 * 60_000;
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
  const { limits, servedModelName, enginePreset } = config;
  // Including its upload, which may have taken all of it.
  const budget = startBudget(exchange, {
    budgetMs: limits.imageTimeoutMs,
    explain: () => explainTimeout(request, limits),
    isExact: true,
  });
  try {
    exchange.check();
    const target = await findPlace({ ...engines, config: () => services.config(state) }, state);
    try {
      await charge();
      exchange.check();
    } catch (error) {
      target.release();
      throw error;
    }
    const made = await runAtEngine({
      span: enterTarget(target, exchange, { services, route: state.route.name, config }),
      request: { ...request, parameters: addSeed(request.parameters, enginePreset) },
      exchange,
      services,
      engines,
      target,
      servedModelName,
      maskField: findMediaEngine(enginePreset).maskField ?? 'mask',
      onBegin,
      lease: (engines.memory ?? processBodies).open(state.tenant ?? state.keyHash),
    });
    services.findUsage(state)?.add('images', made.length);
    return made;
  } finally {
    clearTimeout(budget);
  }
}

const explainTimeout = (
  { parameters }: ImageRequest,
  { imageTimeoutMs, imageJobTimeoutMs }: ResolvedLimits,
): ApiError =>
  new ApiError(
    TIMEOUTS[parameters.task],
    `The image took longer than ${imageTimeoutMs / 1000} s: ` +
      `use async=true, which allows up to ${describeDuration(imageJobTimeoutMs)}.`,
  );

function describeDuration(milliseconds: number): string {
  const minutes = milliseconds / 60_000;
  if (!Number.isInteger(minutes)) return `${milliseconds / 1000} s`;
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}

/** Throws ApiError with the other way of asking. */
async function findPlace(services: Pick<EngineServices, 'capacity' | 'config'>, state: GatewayState) {
  try {
    return await acquireTarget(services, state);
  } catch (error) {
    throw error instanceof ApiError && !state.exchange.canceled ? offerQueue(error) : error;
  }
}

export const offerQueue = ({ code, message, details }: ApiError): ApiError =>
  new ApiError(code, `${message} With async=true the request is queued until a replica takes it.`, details);

interface ImageRun {
  /** Span of the call. */
  span: Span | null;
  request: ImageRequest;
  exchange: Exchange;
  services: MediaServices;
  engines: ImageEngines;
  target: EngineTarget;
  servedModelName: string;
  maskField: string;
  onBegin: Begin;
  /** Memory of the response. */
  lease: Share;
}

async function runAtEngine(run: ImageRun): Promise<GeneratedImage[]> {
  const { request, exchange, engines, target, servedModelName, maskField, span, lease } = run;
  const { parameters, images, mask } = request;
  const startedAt = performance.now();
  const linger = new AbortController();
  const work = generateImages({
    pool: engines.findPool(target),
    target,
    requestId: exchange.requestId,
    trace: span ?? exchange.trace,
    servedModelName,
    parameters,
    files: { images, mask, maskField },
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
    if (!exchange.canceled) throw explainFailure(error, run);
    const timer = setTimeout(() => linger.abort(), engines.orphanTimeoutMs ?? ORPHAN_TIMEOUT_MS);
    void work.catch(() => {}).finally(() => clearTimeout(timer));
    throw error;
  }
}

function explainFailure(error: unknown, { services, engines }: ImageRun): unknown {
  if (!(error instanceof ApiError) || error.status < 500) return error;
  // The engine has done its work: a retry would not find more memory for its response.
  if (error.code === 'temporarily_unavailable') return error.withoutRetry();
  noteFailure(error, { ...engines, metrics: services.metrics });
  // Queued requests have a code of their own for it; responses have this one.
  return new ApiError(error.code, `${error.message} (async=true reports the exact cause.)`, error.details);
}
