/** Every 503 of a gateway, and whether a retry makes sense (docs/api.md, "Unavailable"). */
import type { ErrorCode } from '../../api/errors.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { isRedisAway } from '../../redis/client.ts';
import { ApiError } from './error-response.ts';

interface UnavailabilityDefinition {
  code: ErrorCode;
  /** Seconds after which a retry makes sense; null: it ends only when someone acts, so an SDK that retries would only hang (decision 0012). */
  retryAfter: number | null;
}

/** Each code has the status 503. Only what a retry may find changed has a `Retry-After`. */
export const UNAVAILABILITIES = {
  starting: { code: 'no_pod_available', retryAfter: 5 },
  /** The model is loaded first, for a time that was never measured. */
  coldStart: { code: 'no_pod_available', retryAfter: 30 },
  unhealthy: { code: 'no_pod_available', retryAfter: 5 },
  /** For as long as a queue of the cluster has no quota: SDKs wait no longer than this by themselves. */
  waitingForQuota: { code: 'no_pod_available', retryAfter: 60 },
  replicaStopping: { code: 'no_pod_available', retryAfter: 2 },
  frontStopping: { code: 'no_pod_available', retryAfter: 1 },
  /** Invalid, crashing, or without its image or its engine. */
  notRunning: { code: 'no_pod_available', retryAfter: null },
  stopped: { code: 'no_pod_available', retryAfter: null },
  paused: { code: 'no_pod_available', retryAfter: null },
  deleting: { code: 'no_pod_available', retryAfter: null },
  credit: { code: 'insufficient_quota', retryAfter: null },
  database: { code: 'temporarily_unavailable', retryAfter: 2 },
  memory: { code: 'temporarily_unavailable', retryAfter: 5 },
  downloads: { code: 'temporarily_unavailable', retryAfter: 5 },
  disk: { code: 'temporarily_unavailable', retryAfter: 10 },
  storageService: { code: 'temporarily_unavailable', retryAfter: 2 },
  noStorage: { code: 'temporarily_unavailable', retryAfter: null },
  /** The engine is asked again only after a while. */
  engineReport: { code: 'temporarily_unavailable', retryAfter: 5 },
  queueRefused: { code: 'temporarily_unavailable', retryAfter: 30 },
} as const satisfies Record<string, UnavailabilityDefinition>;

export type Unavailability = keyof typeof UNAVAILABILITIES;

/** `retryAfter`: seconds, where it is known better than by the table. */
export function refuseAsUnavailable(why: Unavailability, message: string, retryAfter?: number): ApiError {
  const { code, retryAfter: usual } = UNAVAILABILITIES[why];
  return new ApiError(
    code,
    message,
    usual === null ? { isFinal: true } : { retryAfter: retryAfter ?? usual },
  );
}

/** Maps an outage of Redis to one error; any other error is returned as it is. */
export const explainRedisOutage = (error: unknown): unknown =>
  // An ApiError may quote a client or an engine, even Redis' own error text.
  !(error instanceof ApiError) && isRedisAway(error)
    ? refuseAsUnavailable('database', 'The database of the gateway is unavailable at the moment.')
    : error;

/** What says whether a deployment can be waited for. */
export type StandingConfig = Pick<
  GatewayConfig,
  'name' | 'paused' | 'deleting' | 'replicas' | 'scaling' | 'obstacle'
>;

/** Why nothing serves the deployment until someone acts, whatever its replicas do; null: it should be served. */
export function findShutdown({
  name,
  paused,
  deleting,
}: Pick<GatewayConfig, 'name' | 'paused' | 'deleting'>): ApiError | null {
  if (deleting) return refuseAsUnavailable('deleting', `The deployment ${name} is being deleted.`);
  return paused ? refuseAsUnavailable('paused', `The deployment ${name} is paused.`) : null;
}

/** Why a deployment without a ready replica gets none until someone acts; null: it may have one soon. */
export function findStandstill(config: StandingConfig): ApiError | null {
  const { name, obstacle, replicas, scaling } = config;
  const shutdown = findShutdown(config);
  if (shutdown) return shutdown;
  if (replicas === 0 && scaling === undefined)
    return refuseAsUnavailable(
      'stopped',
      `The deployment ${name} is scaled to zero replicas, and requests do not start it.`,
    );
  if (obstacle === 'Invalid' || obstacle === 'Failed')
    return refuseAsUnavailable(
      'notRunning',
      `The deployment ${name} is not running: the Ready condition of its ModelDeployment says why, and so does its page in the console.`,
    );
  return null;
}

/** Why it is of no use to hold requests of a deployment without a ready replica; null: it may have one soon. */
export function findLongWait(config: StandingConfig): ApiError | null {
  const standstill = findStandstill(config);
  if (standstill || config.obstacle !== 'WaitingForQuota') return standstill;
  return refuseAsUnavailable(
    'waitingForQuota',
    `The deployment ${config.name} has no ready replica: it waits for GPUs in a queue of the cluster.`,
  );
}

/** `startSeconds`: the rest of the startup time, if known. */
export function explainMissingReplica(config: GatewayConfig, startSeconds?: number): ApiError {
  const wait = findLongWait(config);
  if (wait) return wait;
  const lack = `The deployment ${config.name} has no ready replica`;
  if (config.obstacle === 'Unhealthy')
    return refuseAsUnavailable('unhealthy', `${lack}: its engine does not pass its health check.`);
  const why = config.scaling ? 'coldStart' : 'starting';
  return refuseAsUnavailable(why, `${lack} yet: it is starting, or waits for a node.`, startSeconds);
}

/** In a replica, whose own engine and whose peers do not serve. */
export const explainMissingEngine = (config: GatewayConfig): ApiError =>
  findStandstill(config) ??
  refuseAsUnavailable(
    'starting',
    `The deployment ${config.name} has no ready replica: the engine is starting or has failed.`,
  );
