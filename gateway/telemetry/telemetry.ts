import type { Tracer } from '../tracing/span.ts';
import type { Logger } from './log.ts';
import type { GatewayMetrics } from './metrics.ts';

/** What the parts of a gateway report to. */
export interface Telemetry {
  log: Logger;
  metrics: GatewayMetrics;
  /** null: no tracing. */
  tracer: Tracer | null;
}
