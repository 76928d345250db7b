/** The front's composition: it responds whenever no sidecar can. */

import type { RequestListener } from 'node:http';
import Koa from 'koa';
import { linkSecret } from '../../api/identity.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { findUsedUp } from '../auth/admission-decision.ts';
import { buildBatchHandlers } from '../batches/batch-routes.ts';
import type { EgressAgent } from '../egress/agent.ts';
import { allowOrigins } from '../http/cross-origin.ts';
import { ApiError } from '../http/error-response.ts';
import { answerErrors } from '../http/errors.ts';
import { type GatewayState, identifyRequest } from '../http/exchange.ts';
import { ROUTES, type Route } from '../http/routes.ts';
import { answerHealth, answerProbes, findRoute, requireAvailability, runHandler } from '../http/routing.ts';
import { findShutdown, findStandstill } from '../http/unavailability.ts';
import { countSlots, type MediaServices, type StorageServices } from '../jobs/services.ts';
import { buildMediaHandlers } from '../media/media-routes.ts';
import { serveResults } from '../media/result-download.ts';
import { buildDocumentHandlers } from '../openapi/handler.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { PromisedService } from '../telemetry/slo-metrics.ts';
import type { UsageMeter } from '../telemetry/usage.ts';
import { buildModelHandlers } from '../text/model-routes.ts';
import { inSpan, type Tracer } from '../tracing/span.ts';
import { identifyCaller } from './authentication.ts';
import type { ColdStarts } from './cold-starts.ts';
import type { DemandWatch } from './demand/demand-watch.ts';
import { answerDemand, parseDemandPath } from './demand-route.ts';
import { type Directory, type KnownDeployment, parseHost, parseServiceHost } from './directory.ts';
import type { TokenHolder } from './holding.ts';
import { type ProxyOptions, proxyRequest } from './proxy.ts';
import {
  type FrontMiddleware,
  type FrontState,
  isHolding,
  isListing,
  refuseWithoutReplica,
  wakeForMedia,
  wakeOrHold,
} from './waking.ts';

export interface FrontAppOptions {
  directory: Directory;
  coldStarts: ColdStarts;
  demand: Pick<DemandWatch, 'ask'>;
  proxy: ProxyOptions;
  redis: RedisClient;
  log: Logger;
  metrics: GatewayMetrics;
  usage: UsageMeter;
  storage: StorageServices;
  egress: EgressAgent;
  /** null: nothing is traced. */
  tracer: Tracer | null;
  /** Token of a deployment's replicas. */
  peerToken: (deployment: TokenHolder) => string;
}

/**
 * In the order of the checks: which deployment, does the route exist, which replica; else who calls, and either the front can
 * do it itself (queue work, show requests), or it reports why nobody can.
 */
export function createFrontApp(options: FrontAppOptions): RequestListener {
  const app = new Koa<FrontState>();
  const holding = { ...options.coldStarts, ...options };
  app.use(identifyRequest(options.tracer));
  app.use(
    answerErrors<FrontState>({ ...options, findUsage: (state) => findUsage(options, state), findService }),
  );
  app.use(findDeployment(options));
  app.use(allowOrigins<FrontState>(({ deployment }) => deployment.config.corsOrigins));
  app.use(answerProbes());
  app.use(findRoute(ROUTES));
  app.use(answerHealth<FrontState>(({ deployment }) => isServing(deployment)));
  app.use(
    serveResults<FrontState>({
      config: ({ deployment }) => deployment.config,
      storage: options.storage,
      secret: (config) => linkSecret(options.peerToken(config)),
    }),
  );
  app.use(sendContinue(options.redis));
  app.use(proxyToReplica(options));
  app.use(authenticateCaller(options.redis));
  app.use(requireServable);
  app.use(wakeOrHold(holding));
  app.use(refuseWithoutReplica(options.coldStarts));
  app.use(wakeForMedia(options.redis, options.coldStarts));
  const services = buildServices(options);
  const serve = runHandler({
    ...buildMediaHandlers(services),
    ...buildBatchHandlers(services),
    ...buildDocumentHandlers(services.config),
    ...buildModelHandlers({
      config: services.config,
      isReady: (state) => isListing(state.route, services.config(state)),
      contextLength: () => null,
    }),
  });
  app.use(({ state }) => serve({ state }));
  const handle = app.callback();
  return (req, res) => void handle(req, res);
}

const findDeployment =
  (options: FrontAppOptions): FrontMiddleware =>
  async (ctx, next) => {
    const host = parseHost(ctx.req.headers.host);
    const deployment = await findByHostHeader(options, host);
    const asked = deployment ? null : parseDemandPath(ctx.path);
    if (asked) return answerDemand(options, ctx, asked);
    if (!deployment)
      throw new ApiError('not_found', `There is no deployment at this address${host ? `, ${host}` : ''}.`);
    ctx.state.deployment = deployment;
    options.coldStarts.starts.observe(deployment);
    return next();
  };

/** By a replica, or by one that a request starts. */
const isServing = ({ config, addresses }: KnownDeployment): boolean =>
  addresses.length > 0
    ? findShutdown(config) === null
    : config.scaling !== undefined && findStandstill(config) === null;

async function findByHostHeader(
  { directory }: FrontAppOptions,
  host: string | null,
): Promise<KnownDeployment | null> {
  if (host === null) return null;
  const within = parseServiceHost(host);
  return (await directory.findByHost(host)) ?? (within && directory.find(within.namespace, within.name));
}

const proxyToReplica =
  ({ proxy, coldStarts: { queues } }: FrontAppOptions): FrontMiddleware =>
  async (ctx, next) => {
    const { deployment, exchange, route } = ctx.state;
    const { config, addresses } = deployment;
    const isOpen = !config.paused && !config.deleting && addresses.length > 0;
    // No overtaking of requests that wait for a slot.
    const isBehind = isHolding(route, deployment) && config.concurrency !== null && queues.hasWaiting(config);
    if (isOpen && isBehind) {
      try {
        return await next();
      } catch (error) {
        // The caller is unknown, so it cannot wait; a replica may have the key cached.
        if (!isRedisAway(error) || ctx.state.caller) throw error;
      }
    }
    const outcome = isOpen
      ? await proxyRequest(proxy, { exchange, addresses, port: config.adapter?.port })
      : 'none';
    if (outcome === 'lost' && !isRepeatable(route))
      throw new ApiError('upstream_error', 'The replica closed the connection without a response.');
    if (outcome === 'none' || outcome === 'lost') await next();
  };

/** Reads that need no replica are served here, even after a replica failed. */
const isRepeatable = ({ method, served }: Route): boolean => method === 'GET' && served !== 'ready';

/** With `Expect: 100-continue`, the key is checked here: the relay reads the body at once. A held body waits for its replica. */
const sendContinue =
  (redis: RedisClient): FrontMiddleware =>
  async (ctx, next) => {
    const { exchange, deployment, route } = ctx.state;
    if (ctx.req.headers.expect === undefined) return next();
    await identifyCaller(redis, deployment.config, ctx.req.headers).catch((error) => {
      // The replica will report it.
      if (!isRedisAway(error)) throw error;
    });
    if (deployment.addresses.length > 0 || !isHolding(route, deployment)) exchange.sendContinue();
    return next();
  };

const authenticateCaller =
  (redis: RedisClient): FrontMiddleware =>
  async (ctx, next) => {
    const { config } = ctx.state.deployment;
    const { span } = ctx.state.exchange;
    ctx.state.caller = await inSpan(span, 'admission', () => identifyCaller(redis, config, ctx.req.headers));
    const { admission } = ctx.state.caller;
    const usedUp = ctx.state.route.spendsLater ? findUsedUp(admission) : null;
    if (usedUp) throw usedUp;
    ctx.state.keyHash = ctx.state.caller.sha256;
    ctx.state.keyName = admission.keyName;
    ctx.state.priority = admission.priority;
    ctx.state.budgets = admission.budgets && { ...admission.budgets, asOf: 0 };
    ctx.state.scope = admission.deployments;
    ctx.state.tenant = config.namespace;
    return next();
  };

/** Wrong kind of model, paused or being deleted: the same response as from a sidecar. */
const requireServable: FrontMiddleware = (ctx, next) =>
  requireAvailability(ROUTES, () => ctx.state.deployment.config)(ctx, next);

const findUsage = ({ usage }: FrontAppOptions, { deployment }: FrontState) =>
  deployment ? usage.of(deployment.config.namespace, deployment.config.name) : null;

function findService({ deployment }: FrontState): PromisedService | null {
  if (!deployment || deployment.config.paused || deployment.config.deleting) return null;
  const { namespace, name, slo } = deployment.config;
  return { slo, labels: { namespace, deployment: name } };
}

function buildServices(options: FrontAppOptions): MediaServices {
  const { redis, storage, egress, log, metrics } = options;
  const deploymentOf = (state: GatewayState) => (state as FrontState).deployment;
  return {
    config: (state) => deploymentOf(state).config,
    countSlots: (state) => countSlots(deploymentOf(state).config, deploymentOf(state).addresses.length),
    redis,
    storage,
    egress,
    log,
    metrics,
    findUsage: (state) => findUsage(options, state as FrontState),
  };
}
