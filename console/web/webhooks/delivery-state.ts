/** The state of a delivery in one word. Pure. */
import type { DeliveryView } from '../../api.ts';

export const MAX_ATTEMPTS = 3;

/** After the last attempt it is pending for a while, though nothing is retried anymore. */
export function nameState({ state, attempts }: Pick<DeliveryView, 'state' | 'attempts'>): string {
  if (state !== 'pending' || attempts === 0) return state;
  return attempts < MAX_ATTEMPTS ? 'retrying' : 'failing';
}
