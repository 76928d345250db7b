/** What state a key is in, as the page says it. Pure. */
import type { KeyView } from '../../api.ts';

export function findState(key: KeyView): string {
  const { disabled, expiresAt, isReady } = key;
  if (disabled) return 'disabled';
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) return 'expired';
  if (!isReady) return 'pending';
  return findReachedLimit(key) === null ? 'ready' : 'limit reached';
}

/** The limit that is currently reached; null = none. */
export function findReachedLimit({ usage, rpm, tpd }: KeyView): string | null {
  if (usage === null) return null;
  if (usage.tokensToday >= tpd) return 'Daily token limit, resets at 00:00 UTC';
  return usage.requestsThisMinute >= rpm ? 'Requests per minute' : null;
}

/** For the key that takes the place of one: `app`, then `app-2`. */
export function findNextName(name: string): string {
  const [, stem = name, number = '1'] = /^(.+)-(\d{1,2})$/.exec(name) ?? [];
  return `${stem}-${Number(number) + 1}`;
}
