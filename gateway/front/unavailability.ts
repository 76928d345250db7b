/** Why no replica of a deployment that is neither paused nor being deleted can answer, in words and in seconds. */
import type { GatewayConfig } from '../../contract/gateway-config.ts';

export interface Unavailability {
  message: string;
  /** Seconds after which it is worth trying again. */
  retryAfter: number;
}

const SOON = 5;
const LATER = 30;

export function describeUnavailability(config: GatewayConfig): Unavailability {
  const who = `The deployment ${config.namespace}/${config.name}`;
  if (config.replicas === 0) return { message: `${who} is scaled to zero replicas.`, retryAfter: LATER };
  return { message: `${who} has no ready replica: it is starting.`, retryAfter: SOON };
}
