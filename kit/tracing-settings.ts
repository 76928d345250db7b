/** Tracing settings, of gateways and for the operator's sidecars. */
import type { Variable } from '../api/variables.ts';
import type { Environment } from './environment.ts';

export interface TracingSettings {
  /** Origin of an OTLP receiver, such as http://collector.monitoring:4318. */
  endpoint: string;
  /** Sampling ratio of traces that start here, from 0 to 1. */
  sampleRatio: number;
}

/** null: no tracing. */
export function readTracingSettings(
  env: Environment,
  table: { endpoint: Variable<string | undefined>; sampleRatio: Variable<number> },
): TracingSettings | null {
  const endpoint = env.read(table.endpoint);
  const sampleRatio = env.read(table.sampleRatio);
  return endpoint === undefined ? null : { endpoint, sampleRatio };
}
