/** A deployment's endpoint as one visible chain. */

import type { RequestListener } from 'node:http';
import Koa from 'koa';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { heldToken, linkSecret } from '../../api/identity.ts';
import type { Clock } from '../../kit/clock.ts';
import type { RedisClient } from '../../redis/client.ts';
import { Ledger } from '../account/ledger.ts';
import { Settlements } from '../account/settlements.ts';
import { buildAudioHandlers } from '../audio/audio-routes.ts';
import { Admissions, authenticateRequests } from '../auth/admission.ts';
import { buildBatchHandlers } from '../batches/batch-routes.ts';
import type { EngineTarget } from '../capacity/capacity.ts';
import { buildTokenCheck, HELD_HEADER } from '../capacity/peer-protocol.ts';
import type { Replica } from '../capacity/replica.ts';
import { EgressAgent, type EgressAgentOptions } from '../egress/agent.ts';
import type { LocalEngine } from '../health/local-engine.ts';
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
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import { buildModelHandlers } from '../text/model-routes.ts';
import { buildTextHandlers } from '../text/text-routes.ts';
import { buildTokenizerHandler } from '../text/tokenizer-info.ts';
import type { Traffic } from '../traffic/traffic.ts';
import type { Pools } from '../upstream/pools.ts';
import { LineEndpoint } from './line-endpoint.ts';

export interface SidecarAppOptions {
  /** Read for every request, so that published changes apply at once. */
  config: () => GatewayConfig;
  redis: RedisClient;
  engine: LocalEngine;
  replica: Pick<Replica, 'capacity' | 'readPrefix'>;
  peers: {
    pools: Pools;
    /** The deployment's; null: no front holds requests. */
    token: string | null;
    /** Hops to other versions; null: there are none. */
    traffic: Traffic | null;
  };
  telemetry: Telemetry & { usage: DeploymentUsage };
  /** Which URLs of tenants may be fetched. */
  egress: EgressAgentOptions;
  /** The media routes need it; null: text models have none. */
  storage: StorageServices | null;
  /** Whether this pod is about to be killed: broken streams are not continued here. */
  isEnding: () => boolean;
  clocks?: {
    /** Unix milliseconds. */
    now?: () => number;
    /** For the pauses of broken streams. */
    waits?: Clock;
  };
}

export interface SidecarApp {
  listener: RequestListener;
  cutOff: Pick<CutOff, 'refuse' | 'end'>;
  /** Runs lines of batches. */
  lines: LineEndpoint;
  /** Keys or credit have changed, or may have. */
  refreshLimits(): void;
  /** Settles pending usage, after the server has closed. */
  close(): Promise<void>;
}

export function createSidecarApp(options: SidecarAppOptions): SidecarApp {
  const { config, redis, engine, replica, peers, telemetry, storage, clocks = {} } = options;
  const { log, metrics, usage } = telemetry;
  const settlements = new Settlements({ redis, log, metrics });
  const { now: clock, waits } = clocks;
  const admissions = new Admissions({ redis, log, metrics, settlements, clock, waits });
  const egress = new EgressAgent(options.egress);
  const engines = {
    capacity: replica.capacity,
    traffic: peers.traffic ?? undefined,
    findPool: ({ local, origin, version }: EngineTarget) => {
      if (version !== undefined) return peers.traffic!.findPool(origin);
      return local ? engine.pool : peers.pools.get(origin);
    },
    onEngineLost: engine.suspect,
    ranOutOfMemory: engine.ranOutOfMemory,
  };
  const cutOff = new CutOff();
  const textServices = {
    config,
    ...engines,
    readPrefix: replica.readPrefix,
    takesTools: engine.takesTools,
    egress,
    ledger: new Ledger({ config, settlements, usage, metrics }),
    metrics,
    log,
    clock: clocks.waits,
    isEnding: () => cutOff.isRefusing || options.isEnding(),
  };
  const lines = new LineEndpoint({ config, engine, admissions, text: textServices, telemetry });
  const isReady = engine.isReady;
  const stored = {
    config,
    countSlots: () => countSlots(config(), 0),
    redis,
    egress,
    log,
    metrics,
    findUsage: () => usage,
    ...engines,
  };
  const handlers: Partial<Record<RouteName, Handler>> = {
    ...buildTextHandlers(textServices),
    ...(storage && buildAudioHandlers({ ...textServices, spool: storage.spool })),
    tokenizer_info: buildTokenizerHandler({ config, isReady, pool: engine.unwatchedPool }),
    ...buildModelHandlers({ config, isReady, contextLength: engine.contextLength }),
    ...buildDocumentHandlers(config),
    ...(storage && buildStoredHandlers({ ...stored, storage })),
  };

  const app = new Koa<GatewayState>();
  // 1. Everything that follows, errors included, carries the request's id.
  app.use(identifyRequest(telemetry.tracer));
  // 2. Whatever is thrown below becomes the envelope; Koa's own error page is never seen.
  const model = () => ({ provider: config().enginePreset, model: config().modelId });
  const findService = () => (config().paused || config().deleting ? null : { slo: config().slo });
  app.use(answerErrors({ log, metrics, findUsage: () => usage, model, findService }));
  if (peers.token !== null) app.use(recognizeHeld(peers.token));
  app.use(cutOff.middleware);
  // 3. Pages of other origins, whose preflights carry no key.
  app.use(allowOrigins(() => config().corsOrigins));
  app.use(answerProbes());
  // 4. Before authentication, so that a wrong base URL is not reported as a wrong key.
  app.use(findRoute(ROUTES, config));
  app.use(answerHealth(() => isReady() && findShutdown(config()) === null));
  // Signed links to results, which carry no key.
  if (storage && peers.token !== null) {
    const secret = linkSecret(peers.token);
    app.use(serveResults({ config, storage, secret: () => secret, clock: clocks.now }));
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
    lines,
    refreshLimits: () => void admissions.refresh(),
    close: async () => {
      await lines.close();
      await admissions.refresh();
      await settlements.close();
      await egress.close();
    },
  };
}

const buildStoredHandlers = (services: Parameters<typeof buildMediaHandlers>[0]) => ({
  ...buildMediaHandlers(services),
  ...buildBatchHandlers(services),
});

function recognizeHeld(peerToken: string): GatewayMiddleware {
  const isFronts = buildTokenCheck(heldToken(peerToken));
  return ({ req, state }, next) => {
    const given = req.headers[HELD_HEADER];
    state.exchange.isHeldByFront = given !== undefined && isFronts(given);
    return next();
  };
}
