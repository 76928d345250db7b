/** Aborts relayed calls when the client disconnects or loses permission. */
import type { ServerResponse } from 'node:http';

/** How often permissions of a running stream are checked. */
const RECHECK_INTERVAL_MS = 60_000;

/** A signal that aborts when the client disconnects, or when `isStillAllowed` is no longer true. */
export function endWith(
  response: ServerResponse,
  isStillAllowed: () => Promise<boolean>,
  recheckMs = RECHECK_INTERVAL_MS,
): AbortSignal {
  const controller = new AbortController();
  // If the client has already disconnected, there is no further close event.
  if (response.closed) {
    controller.abort();
    return controller.signal;
  }
  const timer = setInterval(() => {
    isStillAllowed().then(
      (isAllowed) => isAllowed || controller.abort(),
      () => controller.abort(),
    );
  }, recheckMs);
  response.once('close', () => {
    clearInterval(timer);
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
