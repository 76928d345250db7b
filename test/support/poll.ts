import { waitUntil } from '../../machine/wait-until.ts';

/** The tests' way to wait for something: it is named by its own code where `what` is left out. */
export const pollUntil = (
  condition: () => boolean | Promise<boolean>,
  what: string = condition.toString(),
  timeoutMs = 60_000,
  intervalMs?: number,
): Promise<void> => waitUntil(condition, what, timeoutMs, intervalMs);

/** Creation times are whole seconds: what is created from here on is younger than what was there. */
export function passSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  return pollUntil(() => Math.floor(Date.now() / 1_000) > second);
}
