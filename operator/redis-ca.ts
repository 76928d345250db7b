/** The authority of Redis' certificate in the mounted Secret, which the kubelet writes anew when it is rotated. */

const POLL_INTERVAL_MS = 10_000;

export interface Authority {
  /** As it was last read: every deployment's Secret is made of it, so that it is not read for each. */
  text(): string | undefined;
  stop(): void;
}

/** Calls `onChange` whenever `read` gives another content than before. */
export function watchRedisCA(
  read: () => string | undefined,
  onChange: () => void,
  intervalMs = POLL_INTERVAL_MS,
): Authority {
  let known = read();
  const poll = setInterval(() => {
    const found = read();
    if (found === known) return;
    known = found;
    onChange();
  }, intervalMs);
  poll.unref();
  return { text: () => known, stop: () => clearInterval(poll) };
}
