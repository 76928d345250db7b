/** Dependencies of the media routes: the same beside an engine, in the front and in `make run`. */

import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { Slots } from '../capacity/replica-capacity.ts';
import type { EgressAgent } from '../egress/agent.ts';
import type { VideoTiming } from '../engine/video-call.ts';
import type { LocalEngine } from '../health/local-engine.ts';
import type { GatewayState } from '../http/exchange.ts';
import type { Downloader } from '../storage/download.ts';
import type { Spool } from '../storage/spool.ts';
import type { Uploader } from '../storage/uploads.ts';
import type { UrlSigner } from '../storage/url-signer.ts';
import type { Logger } from '../telemetry/log.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { DeploymentUsage } from '../telemetry/usage.ts';

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

/** Jobs of this replica, for its drain and its heartbeats. */
export interface JobCounts {
  /** Claimed and not finished. */
  running: number;
  /** Given up, though the engine continues them. */
  abandoned: number;
}

export interface WorkerServices {
  config: () => GatewayConfig;
  redis: RedisClient;
  storage: StorageServices;
  engine: LocalEngine;
  slots: Slots;
  jobs: JobCounts;
  /** This replica's name in records. */
  pod: string;
  telemetry: Telemetry & { usage: DeploymentUsage };
  timing?: Partial<VideoTiming>;
}
