/** The engine beside this gateway: connections, health, sleep mode, and what it reports about itself. */
import type { Dispatcher } from 'undici';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { Http1Client } from '../../kit/http1-client.ts';
import { joinAnswers } from '../../kit/joined-answers.ts';
import { EngineSleep } from '../capacity/engine-sleep.ts';
import type { Slots } from '../capacity/replica-capacity.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import { tryEngine } from '../health/canary.ts';
import { defaultStalledMs, EngineHealth } from '../health/engine-health.ts';
import type { EngineBounds, EngineVerdict } from '../health/engine-verdict.ts';
import type { LocalEngine } from '../health/local-engine.ts';
import type { WorkProgress } from '../health/watched-dispatcher.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { EngineReport } from '../text/engine-report.ts';
import { fetchMetrics } from './engine-metrics.ts';

export interface EngineAddress {
  url: string;
  healthPath: string;
  /** null: it has no metrics. */
  metricsPath: string | null;
  /** null: it reports itself that it ran out of memory. */
  ranOutOfMemory: MemoryWatch | null;
}

export interface WatchedEngineOptions extends Pick<Telemetry, 'log' | 'metrics'> {
  address: EngineAddress;
  config: () => GatewayConfig;
  slots: Slots;
}

type PhaseListener = (now: EngineVerdict, before: EngineVerdict) => void;

export class WatchedEngine implements LocalEngine {
  readonly url: string;
  readonly ranOutOfMemory: MemoryWatch | null;
  readonly health: EngineHealth;
  readonly sleep: EngineSleep;
  readonly pool: Dispatcher;
  /** The engine's metrics as text; null: it has none. */
  readonly readMetrics: (() => Promise<string>) | null;
  readonly unwatchedPool: () => Dispatcher;
  readonly #client: Http1Client;
  readonly #report: EngineReport;
  readonly #metrics: GatewayMetrics;
  readonly #phaseListeners: PhaseListener[] = [];
  readonly #sleepListeners: (() => void)[] = [];

  constructor({ address, config, slots, metrics, log }: WatchedEngineOptions) {
    const { url, metricsPath } = address;
    this.url = url;
    this.ranOutOfMemory = address.ranOutOfMemory;
    this.#metrics = metrics;
    this.#client = new Http1Client(url, { onResend: () => metrics.resent.inc({ to: 'engine' }) });
    const joined = this.#client.compose(joinAnswers);
    const pool = () => joined;
    this.unwatchedPool = pool;
    this.#report = new EngineReport({ pool, config });
    this.sleep = new EngineSleep({
      pool,
      isOffered: () => config().sleeping !== undefined,
      isIdle: () => slots.inflight === 0 && slots.busy.level === 0,
      onChange: (isAsleep, tookMs) => {
        log.info({ tookMs: Math.round(tookMs) }, isAsleep ? 'engine sleeps' : 'engine woken');
        for (const listener of this.#sleepListeners) listener();
      },
      // Its health check stays good, so nothing else would restart an engine that never wakes.
      onWakeFailure: () => this.health.begin({ isHeld: false }).end('fault'),
      onError: (error, message) => {
        log.warn({ err: error }, message);
        this.suspect();
      },
    });
    this.health = new EngineHealth({
      engineURL: url,
      path: address.healthPath,
      stalledMs: () => readStalledMs(config()),
      bounds: isQueued(config()) ? JOB_BOUNDS : undefined,
      tryEngine: async () =>
        this.sleep.isAwake ? tryEngine({ pool: pool(), config: config(), slots }) : 'unknown',
      onQuiet: () => this.sleep.recheck(),
      onChange: (now, before) => this.#enter(now, before, log),
    });
    this.pool = this.health.watch(pool());
    this.readMetrics = metricsPath === null ? null : () => fetchMetrics({ pool: pool(), path: metricsPath });
    metrics.engines.inc({ phase: this.health.verdict.phase });
  }

  isReady = (): boolean => this.health.isReady;
  isLost = (): boolean => this.health.isLost;
  suspect = (): void => this.health.suspect();
  beginWork = (): WorkProgress => this.health.begin({ isHeld: false });
  contextLength = (): number | null => this.#report.contextLength;
  takesTools = (): boolean | null => this.#report.takesTools;

  onPhaseChange(listener: PhaseListener): void {
    this.#phaseListeners.push(listener);
  }

  onSleepChange(listener: () => void): void {
    this.#sleepListeners.push(listener);
  }

  /** Stops the health check. */
  stop(): void {
    this.health.stop();
    this.#metrics.engines.dec({ phase: this.health.verdict.phase });
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.#client.destroy();
  }

  #enter(now: EngineVerdict, before: EngineVerdict, log: Logger): void {
    const { phase, reason, isReady } = now;
    const lastedSeconds = Math.round((now.since - before.since) / 1000);
    const fields = { phase, reason, before: before.phase, lastedSeconds };
    log[isReady ? 'info' : 'warn'](fields, `engine is ${phase}`);
    this.#metrics.engines.dec({ phase: before.phase });
    this.#metrics.engines.inc({ phase });
    if (isReady && !before.isReady) {
      this.#report.refresh();
      this.sleep.check();
    }
    for (const listener of this.#phaseListeners) listener(now, before);
  }
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
