/** The engine beside this gateway: connections, health, sleep mode, and what it reports about itself. */
import type { Dispatcher } from 'undici';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { EngineSleep } from '../capacity/engine-sleep.ts';
import type { Slots } from '../capacity/replica-capacity.ts';
import { tryEngine } from '../health/canary.ts';
import { defaultStalledMs, EngineHealth } from '../health/engine-health.ts';
import type { EngineBounds, EngineVerdict } from '../health/engine-verdict.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { ContextLength } from '../text/context-length.ts';
import { ENGINE_CONNECT_TIMEOUT_MS, Pools } from '../upstream/pools.ts';
import { fetchMetrics } from './engine-metrics.ts';

export interface WatchedEngineOptions {
  engineURL: string;
  healthPath: string;
  /** null: it has no metrics. */
  metricsPath: string | null;
  config: () => GatewayConfig;
  slots: () => Slots;
  metrics: GatewayMetrics;
  log: Logger;
  onPhaseChange: (now: EngineVerdict, before: EngineVerdict) => void;
  onSleepChange: () => void;
}

export interface WatchedEngine {
  health: EngineHealth;
  sleep: EngineSleep;
  contextLength: ContextLength;
  /** Connections whose requests count for its health. */
  pool: Dispatcher;
  /** Connections for requests that do not affect its health. */
  unwatchedPool: () => Dispatcher;
  /** The engine's metrics as text; null: it has none. */
  readMetrics: (() => Promise<string>) | null;
  /** Stops the health check. */
  stop(): void;
  /** Closes the connections. */
  close(): Promise<void>;
}

export function watchEngine(options: WatchedEngineOptions): WatchedEngine {
  const { engineURL, metricsPath, config, slots, metrics, log } = options;
  const pools = new Pools({
    connectTimeoutMs: ENGINE_CONNECT_TIMEOUT_MS,
    onResend: () => metrics.resent.inc({ to: 'engine' }),
  });
  const unwatchedPool = () => pools.get(engineURL);
  const health = new EngineHealth({
    engineURL,
    path: options.healthPath,
    stalledMs: () => readStalledMs(config()),
    bounds: isQueued(config()) ? JOB_BOUNDS : undefined,
    tryEngine: async () =>
      sleep.isAwake ? tryEngine({ pool: unwatchedPool(), config: config(), slots: slots() }) : 'unknown',
    onChange: (now, before) => {
      const { phase, reason, isReady } = now;
      const lastedSeconds = Math.round((now.since - before.since) / 1000);
      log[isReady ? 'info' : 'warn'](
        { phase, reason, before: before.phase, lastedSeconds },
        `engine is ${phase}`,
      );
      metrics.engines.dec({ phase: before.phase });
      metrics.engines.inc({ phase });
      if (isReady && !before.isReady) {
        contextLength.refresh();
        sleep.check();
      }
      options.onPhaseChange(now, before);
    },
  });
  const sleep = new EngineSleep({
    pool: unwatchedPool,
    isOffered: () => config().sleeping !== undefined,
    isIdle: () => slots().inflight === 0 && slots().busy.level === 0,
    onChange: (isAsleep, tookMs) => {
      log.info({ tookMs: Math.round(tookMs) }, isAsleep ? 'engine sleeps' : 'engine woken');
      options.onSleepChange();
    },
    // Its health check stays good, so nothing else would restart an engine that never wakes.
    onWakeFailure: () => health.begin({ isHeld: false }).end('fault'),
    onError: (error, message) => {
      log.warn({ err: error }, message);
      health.suspect();
    },
  });
  const contextLength = new ContextLength({ pool: unwatchedPool, config });
  metrics.engines.inc({ phase: health.verdict.phase });
  return {
    health,
    sleep,
    contextLength,
    pool: health.watch(unwatchedPool()),
    unwatchedPool,
    readMetrics:
      metricsPath === null ? null : () => fetchMetrics({ pool: unwatchedPool(), path: metricsPath }),
    stop: () => {
      health.stop();
      metrics.engines.dec({ phase: health.verdict.phase });
    },
    close: () => pools.destroy(),
  };
}

/** Other kinds of models never have a queue. */
export const isQueued = ({ kind }: Pick<GatewayConfig, 'kind'>): boolean =>
  kind === 'Image' || kind === 'Video';

/** Job deployments run few jobs at once, each for long. */
const JOB_BOUNDS: Partial<EngineBounds> = { stalledTasks: 2 };

function readStalledMs({ kind, limits, engineStalledMs }: GatewayConfig): number {
  if (engineStalledMs !== undefined) return engineStalledMs;
  const { requestTimeoutMs, imageJobTimeoutMs, videoTimeoutMs } = limits;
  if (kind === 'Video') return defaultStalledMs(videoTimeoutMs);
  // An older operator publishes no limit for image jobs.
  return defaultStalledMs(kind === 'Image' ? (imageJobTimeoutMs ?? videoTimeoutMs) : requestTimeoutMs);
}
