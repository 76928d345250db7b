/** Redis' CA certificate in the mounted Secret, which the kubelet updates when it is rotated. */

const POLL_INTERVAL_MS = 10_000;

export interface Authority {
  /** Cached: it goes into every deployment's Secret, so the file is not read for each. */
  text(): string | undefined;
  stop(): void;
}

/** Calls `onChange` whenever `read` returns other content than before. */
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
