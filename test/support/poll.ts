import { waitUntil } from '../../machine/wait-until.ts';

/** The tests' way to wait for something: it is named by its own code where `what` is left out. */
export const pollUntil = (
  condition: () => boolean | Promise<boolean>,
  what: string = condition.toString(),
  timeoutMs = 60_000,
  intervalMs?: number,
): Promise<void> => waitUntil(condition, what, timeoutMs, intervalMs);
