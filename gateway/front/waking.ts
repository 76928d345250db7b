/** Starts replicas for requests that find none, and holds or refuses them meanwhile. */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { DeploymentName } from '../../api/names.ts';
import type { RedisClient } from '../../redis/client.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayMiddleware, GatewayState } from '../http/exchange.ts';
import type { Route } from '../http/routes.ts';
import { explainMissingReplica } from '../http/unavailability.ts';
import {
  countWaitingRequest,
  findRefusal,
  type IdentifiedCaller,
  requireAdmissible,
} from './authentication.ts';
import type { ColdStarts } from './cold-starts.ts';
import type { KnownDeployment } from './directory.ts';
import { type HoldingServices, holdRequest } from './holding.ts';

export interface FrontState extends GatewayState {
  deployment: KnownDeployment;
  caller: IdentifiedCaller;
}
export type FrontMiddleware = GatewayMiddleware<FrontState>;

/** Whether a request of the route is work for a replica: others only read (decision 0225). */
const isWork = ({ method, served }: Route): boolean => method === 'POST' && served === 'ready';

/** Whether a replica is started for it. */
const isWaking = (route: Route, { config }: KnownDeployment): boolean =>
  config.scaling !== undefined && isWork(route);

export const isHolding = (route: Route, deployment: KnownDeployment): boolean =>
  isWaking(route, deployment) && deployment.config.scaling?.coldStart === 'Hold';

/** Admissible callers need a replica, and wait for it if the deployment is configured so. */
export const wakeOrHold =
  (services: HoldingServices): FrontMiddleware =>
  async (ctx, next) => {
    const { deployment, route, caller } = ctx.state;
    const { config, addresses } = deployment;
    if (!isWaking(route, deployment)) {
      // It starts nothing, but external autoscalers see the demand.
      if (isWork(route) && !findRefusal(caller, route)) await countForeign(services, caller, config);
      return next();
    }
    const uncount = await requireAdmissible(services.redis, caller, route);
    if (addresses.length === 0) services.starts.begin(config);
    if (isHolding(route, deployment)) {
      services.replicaDemand.ask(config);
      return holdRequest(services, ctx.state, uncount);
    }
    services.replicaDemand.refuse(config);
    return next();
  };

/** For external autoscalers: at most what the key's RPM would allow, so that one key cannot fake demand. */
async function countForeign(
  { redis, replicaDemand }: Pick<HoldingServices, 'redis' | 'replicaDemand'>,
  caller: IdentifiedCaller,
  deployment: DeploymentName,
): Promise<void> {
  if ((await countWaitingRequest(redis, caller)).verdict === 'ok') replicaDemand.countRefused(deployment);
}

/** Clients list models before they use one, which would start it: missing replicas do not matter to them. */
export const isListing = ({ name }: Pick<Route, 'name'>, { scaling }: GatewayConfig): boolean =>
  scaling !== undefined && (name === 'models' || name === 'model');

export const refuseWithoutReplica =
  ({ starts }: ColdStarts): FrontMiddleware =>
  (ctx, next) => {
    const { config } = ctx.state.deployment;
    if (ctx.state.route.served !== 'ready' || isListing(ctx.state.route, config)) return next();
    // A kept-alive connection would stay here when a pod is ready again.
    ctx.res.shouldKeepAlive = false;
    throw explainMissingReplica(config, starts.estimateSeconds(config));
  };

/** Queued requests wait for a replica; synchronous images are refused, and retried (decision 0337). */
export const wakeForMedia =
  (redis: RedisClient, { replicaDemand, starts }: ColdStarts): FrontMiddleware =>
  async (ctx, next) => {
    const { route, caller, deployment } = ctx.state;
    const { config, addresses } = deployment;
    if (route.method !== 'POST' || route.served !== 'accepting') return next();
    try {
      await next();
    } catch (error) {
      const isRefused = error instanceof ApiError && error.code === 'no_pod_available';
      if (!isRefused || !caller.admission.creditLeft) throw error;
      if (!config.scaling) {
        await countForeign({ redis, replicaDemand }, caller, config);
        throw error;
      }
      if (addresses.length === 0) starts.begin(config);
      // Its RPM does not limit media, only how much one key can have refused.
      if ((await countWaitingRequest(redis, caller)).verdict === 'ok') replicaDemand.refuse(config);
      else replicaDemand.ask(config);
      const { details } = explainMissingReplica(config, starts.estimateSeconds(config));
      throw new ApiError(error.code, error.message, details);
    }
    // What an idempotency key repeats was demanded before, and may have ended.
    const isNew = !ctx.state.exchange.isReplay;
    if (isNew && config.scaling && addresses.length === 0) replicaDemand.hint(config);
  };
