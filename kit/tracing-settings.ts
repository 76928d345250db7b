/** Tracing settings, of gateways and for the operator's sidecars. */
import type { Environment } from './environment.ts';

export interface TracingSettings {
  /** Origin of an OTLP receiver, such as http://collector.monitoring:4318. */
  endpoint: string;
  /** Sampling ratio of traces that start here, from 0 to 1. */
  sampleRatio: number;
}

const DEFAULT_RATIO = 0.1;

/** By the names of its variables; null: no tracing. */
export function readTracingSettings(
  env: Environment,
  names: Record<keyof TracingSettings, string>,
): TracingSettings | null {
  const endpoint = env.origin(names.endpoint);
  const sampleRatio = env.fraction(names.sampleRatio, DEFAULT_RATIO);
  return endpoint === undefined ? null : { endpoint, sampleRatio };
}
