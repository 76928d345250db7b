/** How many messages of a subscription are news, and when they are a flood. */

/** What is news; a workspace's Redis user may publish any number of messages, and long ones. */
export interface FloodLimits {
  messagesPerSecond: number;
  bytesPerSecond: number;
  /** Nothing is heard for so long after more than that; who listens looks by itself meanwhile. */
  pauseMs: number;
}

export const FLOOD_LIMITS: FloodLimits = {
  messagesPerSecond: 5_000,
  bytesPerSecond: 8 * 1024 * 1024,
  pauseMs: 10_000,
};

/** Answers whether a message is one too many of this second. */
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
