/** What every run at an engine has, whatever it makes: a slot, a time budget, and a failure that says something of the engine. */
import { randomUUID } from 'node:crypto';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { Acquisition, Capacity, EngineTarget } from '../capacity/capacity.ts';
import type { EnginePool } from '../engine/engine-call.ts';
import { AdapterMissingError, EngineMemoryError } from '../engine/engine-error.ts';
import { beginEngineSpan } from '../engine/engine-span.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange, GatewayState } from '../http/exchange.ts';
import { explainMissingEngine } from '../http/unavailability.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { inSpan, type Span } from '../tracing/span.ts';
import type { Traffic } from '../traffic/traffic.ts';

export interface EngineServices {
  config: () => GatewayConfig;
  capacity: Capacity;
  findPool: (target: EngineTarget) => EnginePool;
  metrics: GatewayMetrics;
  /** Absent: no other versions answer here. */
  traffic?: Pick<Traffic, 'choose' | 'acquire'> | undefined;
  /** The engine failed a request: its health should be probed. */
  onEngineLost?: () => void;
}

const SATURATED_RETRY_SECONDS = 5;

/** Synchronous if a slot is free, else after waiting in line. Fails with ApiError if no engine has a slot. */
export const acquireTarget = (
  services: Pick<EngineServices, 'capacity' | 'config' | 'traffic'>,
  state: GatewayState,
): EngineTarget | Promise<EngineTarget> =>
  inSpan(state.exchange.span, 'wait for a place', () => {
    const version = chooseVersion(services, state);
    return version === null ? acquire(services, state) : acquireAt(version, services, state);
  });

function chooseVersion(
  { traffic, config }: Pick<EngineServices, 'config' | 'traffic'>,
  state: GatewayState,
): string | null {
  if (traffic === undefined || config().traffic === undefined) return null;
  // What has no conversation is spread by itself.
  state.conversation ??= randomUUID();
  return traffic.choose(state.conversation);
}

/** At the version that the conversation belongs to; here if none of its replicas has a slot. */
async function acquireAt(
  version: string,
  services: Pick<EngineServices, 'capacity' | 'config' | 'traffic'>,
  state: GatewayState,
): Promise<EngineTarget> {
  const { exchange, conversation } = state;
  const since = performance.now();
  const target = await services.traffic!.acquire(version, conversation!, { signal: exchange.signal });
  exchange.waitedMs += performance.now() - since;
  if (exchange.canceled) target?.release();
  exchange.check();
  return target ?? acquire(services, state);
}

/** A slot of this deployment. */
export function acquire(
  { capacity, config }: Pick<EngineServices, 'capacity' | 'config'>,
  state: GatewayState,
): EngineTarget | Promise<EngineTarget> {
  const { exchange, keyHash: id, priority = 0, prefix } = state;
  const acquired = capacity.acquire(exchange.signal, { id, priority, prefix });
  if (!(acquired instanceof Promise)) return readTarget(acquired, config);
  const since = performance.now();
  return acquired.then((acquisition) => {
    exchange.waitedMs += performance.now() - since;
    if (exchange.canceled && 'target' in acquisition) acquisition.target.release();
    exchange.check();
    return readTarget(acquisition, config);
  });
}

function readTarget(acquisition: Acquisition, config: () => GatewayConfig): EngineTarget {
  if ('target' in acquisition) return acquisition.target;
  if (acquisition.refusal === 'no_pod_available') throw explainMissingEngine(config());
  throw new ApiError('replica_saturated', 'Every replica is at its concurrency limit.', {
    retryAfter: SATURATED_RETRY_SECONDS,
  });
}

interface Entry {
  services: Pick<EngineServices, 'metrics'>;
  /** Name of the route. */
  route: string;
  config: Pick<GatewayConfig, 'enginePreset' | 'modelId' | 'name'>;
}

/** Notes where the request runs; the span of the call is the caller's to end. */
export function enterTarget(
  target: EngineTarget,
  exchange: Exchange,
  { services, route, config }: Entry,
): Span | null {
  if (!target.local && target.version === undefined) services.metrics.forwarded.inc();
  exchange.askedOrigin = target.origin;
  exchange.peer = target.local ? null : new URL(target.origin).hostname;
  const { enginePreset: provider, modelId: model } = config;
  if (exchange.version !== null || target.version !== undefined)
    exchange.nameVersion(target.version ?? config.name);
  return exchange.span && beginEngineSpan(exchange.span, target, { route, provider, model });
}

/** Whether it says that the engine itself may be lost, or what it had loaded. */
export const isEngineFault = (error: unknown): boolean =>
  error instanceof AdapterMissingError ||
  (error instanceof ApiError && error.code === 'upstream_error' && !(error instanceof EngineMemoryError));

/** Whether this deployment's engines were asked last, not those of another version. */
export const isOwnVersion = ({ version }: Exchange, { name }: Pick<GatewayConfig, 'name'>): boolean =>
  version === null || version === name;

/** As `isOwnVersion`; false if this deployment had no slot after another version was lost. */
export const hasAskedOwnEngine = (exchange: Exchange, config: Pick<GatewayConfig, 'name'>): boolean =>
  exchange.askedOrigin !== null && isOwnVersion(exchange, config);

/** Counts an engine's error, and triggers a health probe if it may be lost; not if it is another deployment's. */
export function noteFailure(
  error: unknown,
  { metrics, onEngineLost }: Pick<EngineServices, 'metrics' | 'onEngineLost'>,
  isOwn = true,
): void {
  if (!isOwn || !(error instanceof ApiError) || error.status < 500) return;
  metrics.engineErrors.inc({ reason: error instanceof EngineMemoryError ? 'out_of_memory' : error.code });
  if (isEngineFault(error)) onEngineLost?.();
}

interface Budget {
  budgetMs: number;
  from?: number;
  explain: () => ApiError;
  /** Else up to a second late. */
  isExact?: boolean;
}

/**
 * Cancels the request with this error once it has taken so long (docs/api.md, "Limits"). Counts from `from`, in milliseconds
 * after the request's start.
 */
export function startBudget(
  exchange: Exchange,
  { budgetMs, from = 0, explain, isExact }: Budget,
): NodeJS.Timeout {
  const end = () => exchange.cancel(explain());
  const left = Math.max(0, from + budgetMs - Math.floor(exchange.elapsed()));
  if (left === 0) end();
  return setTimeout(end, isExact ? left : roundDelay(left));
}

/** Before the first byte, expiry is a 504. */
export const startRequestDeadline = (exchange: Exchange, budgetMs: number, from = 0): NodeJS.Timeout =>
  startBudget(exchange, { budgetMs, from, explain: () => explainTimeout(budgetMs) });

const explainTimeout = (budgetMs: number): ApiError =>
  new ApiError('request_timeout', `The request took longer than ${budgetMs / 1000} s.`, { status: 504 });

/** Node keeps a list and a timer per duration: long ones are rounded up to seconds, so that requests share them. */
const roundDelay = (ms: number): number => (ms > 10_000 ? Math.ceil(ms / 1_000) * 1_000 : ms);

/** The work's outcome, or immediately the reason of a cancel. */
export const untilCanceled = <T>(exchange: Exchange, work: Promise<T>): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const stopListening = exchange.onCancel(reject);
    work.then(resolve, reject).finally(stopListening);
  });
