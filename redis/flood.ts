/** Tells a flood of messages on a subscription from the usual traffic. */
/** Limits of usual traffic; a workspace's Redis user may publish any number of messages, and long ones. */
export interface FloodLimits {
  messagesPerSecond: number;
  bytesPerSecond: number;
  /** How long a flooded subscription pauses; listeners poll meanwhile. */
  pauseMs: number;
}

export const FLOOD_LIMITS: FloodLimits = {
  messagesPerSecond: 5_000,
  bytesPerSecond: 8 * 1024 * 1024,
  pauseMs: 10_000,
};

/** Returns whether a message exceeds the limits of this second. */
export function createFloodGauge({
  messagesPerSecond,
  bytesPerSecond,
}: FloodLimits): (message: string) => boolean {
  let since = 0;
  let messages = 0;
  let bytes = 0;
  return (message) => {
    if (performance.now() - since > 1_000) {
      since = performance.now();
      messages = 0;
      bytes = 0;
    }
    messages++;
    bytes += message.length;
    return messages > messagesPerSecond || bytes > bytesPerSecond;
  };
}
