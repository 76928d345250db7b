/** When a call that is made for a page has to end. */
import type { ServerResponse } from 'node:http';

/** Between two looks at whether a stream may go on. */
const RECHECK_MS = 60_000;

/** Who leaves the page wants no answer any more; and a long one ends with the right to it. */
export function endWith(
  response: ServerResponse,
  isStillAllowed: () => Promise<boolean>,
  recheckMs = RECHECK_MS,
): AbortSignal {
  const controller = new AbortController();
  // Who left while rights were asked is not heard to leave any more.
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
