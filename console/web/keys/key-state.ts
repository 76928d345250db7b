/** What state a key is in, as the page says it. Pure. */
import { findReachedLimit, type KeyView } from '../../api.ts';

export function findState(key: KeyView): string {
  const { disabled, expiresAt, isReady } = key;
  if (disabled) return 'disabled';
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) return 'expired';
  if (!isReady) return 'pending';
  return findReachedLimit(key) === null ? 'ready' : 'limit reached';
}

/** For the key that takes the place of one: `app`, then `app-2`. */
export function findNextName(name: string): string {
  const [, stem = name, number = '1'] = /^(.+)-(\d{1,2})$/.exec(name) ?? [];
  return `${stem}-${Number(number) + 1}`;
}
