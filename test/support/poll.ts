import { waitUntil } from '../../machine/wait-until.ts';

/** How tests wait for a condition; without `what`, errors name it by its code. */
export const pollUntil = (
  condition: () => boolean | Promise<boolean>,
  what: string = condition.toString(),
  timeoutMs = 60_000,
  intervalMs?: number,
): Promise<void> => waitUntil(condition, what, timeoutMs, intervalMs);

/** Creation times have whole seconds: later objects then have a later time than earlier ones. */
export function passSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  return pollUntil(() => Math.floor(Date.now() / 1_000) > second);
}
