/** How a receiver answered, in words. Pure. */
import type { DeliveryView } from '../../api.ts';

/** null before the first attempt has ended. */
export function describeAnswer({ status, error }: Pick<DeliveryView, 'status' | 'error'>): string | null {
  if (status === null) return error;
  // The log says "answered 500" of it.
  return error === null || /^answered [0-9]+$/.test(error) ? `HTTP ${status}` : `HTTP ${status}, ${error}`;
}
