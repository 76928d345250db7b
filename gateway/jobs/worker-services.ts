/** What a worker and its jobs work with. */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { EnginePool } from '../engine/engine-call.ts';
import type { VideoTiming } from '../engine/video-call.ts';
import type { WorkWitness } from '../health/watched-dispatcher.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import type { StorageServices } from './services.ts';

export interface WorkerServices {
  config: () => GatewayConfig;
  redis: RedisClient;
  storage: StorageServices;
  /** Connections to the engine. */
  pool: EnginePool;
  /** A work that the connections do not show: a job that is submitted, and asked after. */
  beginWork?: () => WorkWitness;
  isEngineReady: () => boolean;
  /** What it was given cannot end well any more. */
  isEngineLost: () => boolean;
  /** The engine was seen to fail: its health is worth a look. */
  onEngineLost: () => void;
  /** This replica, as records name it. */
  pod: string;
  log: Logger;
  metrics: Pick<GatewayMetrics, 'jobsRunning' | 'jobs' | 'queueWait' | 'jobDuration'>;
  usage: DeploymentUsage;
  timing?: Partial<VideoTiming>;
}
