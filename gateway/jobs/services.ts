/** Dependencies of the media routes: the same beside an engine, in the front and in `make run`. */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { EgressAgent } from '../egress/agent.ts';
import type { EnginePool } from '../engine/engine-call.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import type { VideoTiming } from '../engine/video-call.ts';
import type { WorkProgress } from '../health/watched-dispatcher.ts';
import type { GatewayState } from '../http/exchange.ts';
import type { Downloader } from '../storage/download.ts';
import type { Spool } from '../storage/spool.ts';
import type { Uploader } from '../storage/uploads.ts';
import type { UrlSigner } from '../storage/url-signer.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';
import type { Tracer } from '../tracing/span.ts';

export interface MediaServices {
  /** Configuration of the deployment that the request is for. */
  config: (state: GatewayState) => GatewayConfig;
  /** Slots of all its replicas together, at least 1, for estimates. */
  countSlots: (state: GatewayState) => number;
  redis: RedisClient;
  storage: StorageServices;
  egress: EgressAgent;
  log: Logger;
  metrics: GatewayMetrics;
  /** Usage of the deployment that the request is for. */
  findUsage: (state: GatewayState) => DeploymentUsage | null;
}

/** Access to stores, and to Redis' list of objects to be removed from them. */
export interface StorageServices {
  urlSigner: UrlSigner;
  spool: Spool;
  uploader: Uploader;
  downloader: Downloader;
  /** First 8 digits of a workspace's request ids. */
  requestPrefix: (namespace: string) => string;
  /** Seals the parameters and prompts of requests; null without storage. */
  promptKey: (namespace: string) => Buffer | null;
}

/** Slots of all replicas together, `ready` of which are known to exist; at least 1. */
export function countSlots({ replicas, concurrency }: GatewayConfig, ready: number): number {
  return Math.max(1, ready, replicas ?? 1) * (concurrency ?? 1);
}

export interface WorkerServices {
  config: () => GatewayConfig;
  redis: RedisClient;
  storage: StorageServices;
  /** Connections to the engine. */
  pool: EnginePool;
  /** Work that connections do not show: a job that is submitted and polled. */
  beginWork?: () => WorkProgress;
  isEngineReady: () => boolean;
  /** Its work can no longer succeed. */
  isEngineLost: () => boolean;
  /** The engine failed: its health should be probed. */
  onEngineLost: () => void;
  /** This replica's name in records. */
  pod: string;
  log: Logger;
  metrics: Pick<GatewayMetrics, 'jobsRunning' | 'abandonedJobs' | 'jobs' | 'queueWait' | 'jobDuration'>;
  usage: DeploymentUsage;
  /** Memory watch of this replica's engine. */
  ranOutOfMemory?: MemoryWatch | null;
  /** Number of jobs that were abandoned and that the engine continues, for heartbeats. Absent: not counted. */
  abandoned?: { jobs: number };
  timing?: Partial<VideoTiming>;
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
}
