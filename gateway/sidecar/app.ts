/** A deployment's endpoint as one visible chain. */

import type { RequestListener } from 'node:http';
import Koa from 'koa';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { heldToken, linkSecret } from '../../api/identity.ts';
import type { Clock } from '../../kit/clock.ts';
import type { RedisConnection } from '../../redis/client.ts';
import { Ledger } from '../account/ledger.ts';
import { Settlements } from '../account/settlements.ts';
import { buildAudioHandlers } from '../audio/audio-routes.ts';
import { Admissions } from '../auth/admission.ts';
import { authenticateRequests } from '../auth/authentication.ts';
import type { Capacity, EngineTarget } from '../capacity/capacity.ts';
import { buildTokenCheck, HELD_HEADER } from '../capacity/peer-protocol.ts';
import { EgressAgent, type EgressAgentOptions, PUBLIC_ONLY } from '../egress/agent.ts';
import type { EnginePool } from '../engine/engine-call.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import { allowOrigins } from '../http/cross-origin.ts';
import { answerErrors, CutOff } from '../http/errors.ts';
import {
  type GatewayMiddleware,
  type GatewayState,
  type Handler,
  identifyRequest,
} from '../http/exchange.ts';
import { ROUTES, type RouteName } from '../http/routes.ts';
import { answerHealth, answerProbes, findRoute, requireAvailability, runHandler } from '../http/routing.ts';
import { createListener } from '../http/server.ts';
import { findShutdown } from '../http/unavailability.ts';
import { countSlots, type StorageServices } from '../jobs/services.ts';
import { buildMediaHandlers } from '../media/media-routes.ts';
import { serveResults } from '../media/result-download.ts';
import { buildDocumentHandlers } from '../openapi/handler.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import { buildModelHandlers } from '../text/model-routes.ts';
import { buildTextHandlers } from '../text/text-routes.ts';
import { buildTokenizerHandler } from '../text/tokenizer-info.ts';
import type { Tracer } from '../tracing/span.ts';
import { Pools } from '../upstream/pools.ts';

export interface SidecarAppOptions {
  /** Read for every request, so that published changes apply at once. */
  config: () => GatewayConfig;
  capacity: Capacity;
  /** Hashes a prompt by its parts, see `Caller.prefix`; absent: no routing by prefix. */
  readPrefix?: (parts: readonly unknown[]) => number | null | undefined;
  connection: Pick<RedisConnection, 'redis'>;
  engineReady: () => boolean;
  /** Context length; null while unknown. */
  contextLength?: () => number | null;
  log: Logger;
  metrics: GatewayMetrics;
  usage: DeploymentUsage;
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
  /** Connections to the engine; its own by default. */
  enginePool?: EnginePool;
  /** Connections to the engine for what does not affect its health. */
  readPool?: () => EnginePool;
  /** The engine failed a request: its health should be probed. */
  onEngineLost?: () => void;
  ranOutOfMemory?: MemoryWatch | null;
  /** Which URLs of tenants may be fetched; by default public ones. */
  egress?: EgressAgentOptions;
  /** The media routes need it; text models have none. */
  storage?: StorageServices;
  /** Token of the deployment; absent if no front holds requests. */
  peerToken?: string;
  /** Unix milliseconds. */
  clock?: () => number;
  /** For the pauses of broken streams. */
  waits?: Clock;
  /** Whether this pod is about to be killed: broken streams are not continued here. */
  isEnding?: () => boolean;
}

export interface SidecarApp {
  listener: RequestListener;
  cutOff: Pick<CutOff, 'refuse' | 'end'>;
  /** Connections to peers. */
  peerPools: Pools;
  /** Settles pending usage, after the server has closed. */
  close(): Promise<void>;
}

export function createSidecarApp(options: SidecarAppOptions): SidecarApp {
  const { config, capacity, engineReady, log, metrics, usage, onEngineLost } = options;
  const { redis } = options.connection;
  const settlements = new Settlements({ redis, log, metrics });
  const admissions = new Admissions({ redis, log, metrics, settlements, clock: options.clock });
  const enginePools = new Pools({ onResend: () => metrics.resent.inc({ to: 'engine' }) });
  const peerPools = new Pools({ onResend: () => metrics.resent.inc({ to: 'replica' }) });
  const egress = new EgressAgent(options.egress ?? PUBLIC_ONLY);
  const engines = {
    capacity,
    findPool: ({ local, origin }: EngineTarget): EnginePool =>
      local ? (options.enginePool ?? enginePools.get(origin)) : peerPools.get(origin),
    onEngineLost,
    ranOutOfMemory: options.ranOutOfMemory,
  };
  const cutOff = new CutOff();
  const textServices = {
    config,
    ...engines,
    readPrefix: options.readPrefix,
    egress,
    ledger: new Ledger({ config, settlements, usage, metrics }),
    metrics,
    log,
    clock: options.waits,
    isEnding: () => cutOff.isRefusing || options.isEnding?.() === true,
  };
  const handlers: Partial<Record<RouteName, Handler>> = {
    ...buildTextHandlers(textServices),
    ...(options.storage && buildAudioHandlers({ ...textServices, spool: options.storage.spool })),
    ...(options.readPool && {
      tokenizer_info: buildTokenizerHandler({ config, isReady: engineReady, pool: options.readPool }),
    }),
    ...buildModelHandlers({
      config,
      isReady: engineReady,
      contextLength: options.contextLength ?? (() => null),
    }),
    ...buildDocumentHandlers(config),
    ...(options.storage &&
      buildMediaHandlers({
        config,
        countSlots: () => countSlots(config(), 0),
        redis,
        storage: options.storage,
        egress,
        log,
        metrics,
        findUsage: () => usage,
        ...engines,
      })),
  };

  const app = new Koa<GatewayState>();
  // 1. Everything that follows, errors included, carries the request's id.
  app.use(identifyRequest(options.tracer));
  // 2. Whatever is thrown below becomes the envelope; Koa's own error page is never seen.
  const model = () => ({ provider: config().enginePreset, model: config().modelId });
  const findService = () => (config().paused || config().deleting ? null : { slo: config().slo });
  app.use(answerErrors({ log, metrics, findUsage: () => usage, model, findService }));
  if (options.peerToken !== undefined) app.use(recognizeHeld(options.peerToken));
  app.use(cutOff.middleware);
  // 3. Pages of other origins, whose preflights carry no key.
  app.use(allowOrigins(() => config().corsOrigins));
  app.use(answerProbes());
  // 4. Before authentication, so that a wrong base URL is not reported as a wrong key.
  app.use(findRoute(ROUTES, config));
  app.use(answerHealth(() => engineReady() && findShutdown(config()) === null));
  // Signed links to results, which carry no key.
  if (options.storage && options.peerToken !== undefined) {
    const secret = linkSecret(options.peerToken);
    app.use(serveResults({ config, storage: options.storage, secret: () => secret, clock: options.clock }));
  }
  // 5. Key, RPM, TPD and credit in one call; before the body, so that strangers cannot fill memory.
  app.use(authenticateRequests(admissions, config));
  // 6. The kind of model, then whether the deployment serves at all.
  app.use(requireAvailability(ROUTES, config));
  // 7. The route: body, validation, a slot on an engine, the response, usage.
  app.use(runHandler(handlers));

  return {
    listener: createListener(app),
    cutOff,
    peerPools,
    close: async () => {
      await settlements.close();
      await Promise.all([enginePools.destroy(), peerPools.destroy(), egress.close()]);
    },
  };
}

function recognizeHeld(peerToken: string): GatewayMiddleware {
  const isFronts = buildTokenCheck(heldToken(peerToken));
  return ({ req, state }, next) => {
    const given = req.headers[HELD_HEADER];
    state.exchange.isHeldByFront = given !== undefined && isFronts(given);
    return next();
  };
}
