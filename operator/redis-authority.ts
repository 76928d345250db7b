/** The authority of Redis' certificate in the mounted Secret, which the kubelet writes anew when it is rotated. */

const POLL_INTERVAL_MS = 10_000;

/** Calls `onChange` whenever `read` gives another content than before. */
export function watchAuthority(
  read: () => string | undefined,
  onChange: () => void,
  intervalMs = POLL_INTERVAL_MS,
): { stop(): void } {
  let known = read();
  const poll = setInterval(() => {
    const found = read();
    if (found === known) return;
    known = found;
    onChange();
  }, intervalMs);
  poll.unref();
  return { stop: () => clearInterval(poll) };
}
