/** Why no replica of a deployment that is neither paused nor being deleted can answer, in words and in seconds. */
import type { GatewayConfig } from '../../api/gateway-config.ts';

export interface Unavailability {
  message: string;
  /** Seconds after which it is worth trying again. */
  retryAfter: number;
  /** It ends by somebody's doing alone. */
  isFinal: boolean;
}

const SOON = 5;
const LATER = 30;

/** `startSeconds`: what is left of the start, as far as it is known. */
export function describeUnavailability(config: GatewayConfig, startSeconds = SOON): Unavailability {
  const who = `The deployment ${config.namespace}/${config.name}`;
  if (config.replicas === 0)
    return { message: `${who} is scaled to zero replicas.`, retryAfter: LATER, isFinal: true };
  return {
    message: `${who} has no ready replica: it is starting.`,
    retryAfter: startSeconds,
    isFinal: false,
  };
}
