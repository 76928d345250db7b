/** Aborts relayed calls when the client disconnects or loses permission. */
import type { ServerResponse } from 'node:http';
import { PeriodicTask } from '../../../kit/periodic-task.ts';

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
  const checks = new PeriodicTask({
    run: async () => {
      if (!(await isStillAllowed())) controller.abort();
    },
    intervalMs: recheckMs,
    onError: () => controller.abort(),
  });
  checks.start(recheckMs);
  response.once('close', () => {
    void checks.stop();
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
