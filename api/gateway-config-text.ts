/** Parses a published GatewayConfig. Separate from its schema, and without zod, which would double a gateway's startup time. */

import type { EnginePreset } from './engine-presets.ts';
import { listEngineRoutes } from './engine-routes.ts';
import type { GatewayConfig } from './gateway-config.ts';
import type { ResolvedLimits } from './model-limits.ts';

const STRINGS = [
  'namespace',
  'name',
  'modelId',
  'servedModelName',
  'displayName',
  'ownedBy',
  'kind',
] as const;

/** Limit of timers: one over 24 days would fire at once. The schema rejects it, but older objects may have it. */
const TIMERS = [
  'requestTimeoutMs',
  'imageTimeoutMs',
  'imageJobTimeoutMs',
  'videoTimeoutMs',
  'waitForSlotMs',
  'streamKeepAliveMs',
  'headersTimeoutMs',
  'bodyTimeoutMs',
  'uploadTimeoutMs',
] as const satisfies readonly (keyof ResolvedLimits)[];
/** As in the schema. */
const KEEP_ALIVE_MS = 15_000;
const MAX_TIMER_MS = 24 * 86_400_000;
/** The same limit as in the schema of `limits.jsonBody`, which older objects may exceed. */
const MAX_JSON_BODY_BYTES = 160 * 1024 * 1024;

/**
 * Only the operator writes it, by the schema; this rejects only what this version cannot serve with. Fields of a newer
 * operator are kept. Throws an error that describes the problem.
 */
export function parseGatewayConfig(text: string): GatewayConfig {
  const config = checkConfig(JSON.parse(text) as Partial<GatewayConfig> | null);
  config.adapters?.forEach(checkConfig);
  return config;
}

function checkConfig(config: Partial<GatewayConfig> | null): GatewayConfig {
  if (typeof config !== 'object' || config === null) throw new Error('the configuration is not an object');
  if (config.v !== 1) throw new Error(`the configuration has version ${config.v}, this gateway supports 1`);
  for (const field of STRINGS)
    if (typeof config[field] !== 'string') throw new Error(`the configuration has no ${field}`);
  if (
    typeof config.limits !== 'object' ||
    Object.values(config.limits).some((limit) => !Number.isFinite(limit))
  )
    throw new Error('the configuration has no limits');
  if (config.concurrency !== null && !Number.isInteger(config.concurrency))
    throw new Error('the configuration has no concurrency');
  // An older operator publishes none.
  config.routes ??= [...listEngineRoutes(config.enginePreset as EnginePreset, config.kind!)];
  if (!Array.isArray(config.cordoned)) config.cordoned = [];
  if (!Array.isArray(config.sleeping)) delete config.sleeping;
  if (config.scaling !== undefined) checkScaling(config.scaling);
  config.limits.streamKeepAliveMs ??= KEEP_ALIVE_MS;
  // Only present ones: an older operator publishes fewer, and NaN would mean no limit.
  for (const timer of TIMERS) if (config.limits[timer] > MAX_TIMER_MS) config.limits[timer] = MAX_TIMER_MS;
  config.limits.jsonBodyBytes = Math.min(config.limits.jsonBodyBytes, MAX_JSON_BODY_BYTES);
  return config as GatewayConfig;
}

function checkScaling(scaling: NonNullable<GatewayConfig['scaling']>): void {
  if (!Number.isFinite(scaling.holdForMs)) throw new Error('the configuration has no scaling.holdForMs');
  scaling.holdForMs = Math.min(scaling.holdForMs, MAX_TIMER_MS);
  if (!Number.isFinite(scaling.loadTimeMs)) scaling.loadTimeMs = null;
}
