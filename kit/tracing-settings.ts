/** Where traces go, as the gateway is told and the operator tells its sidecars. */
import type { Environment } from './environment.ts';

export interface TracingSettings {
  /** Origin of an OTLP receiver, such as http://collector.monitoring:4318. */
  endpoint: string;
  /** Of traces that begin here, from 0 to 1. */
  sampleRatio: number;
}

const DEFAULT_RATIO = 0.1;

/** By the names of its variables; null: nothing is traced. */
export function readTracingSettings(
  env: Environment,
  names: Record<keyof TracingSettings, string>,
): TracingSettings | null {
  const endpoint = env.origin(names.endpoint);
  const sampleRatio = env.fraction(names.sampleRatio, DEFAULT_RATIO);
  return endpoint === undefined ? null : { endpoint, sampleRatio };
}
