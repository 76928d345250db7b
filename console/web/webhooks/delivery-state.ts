/** A delivery in words: its state, the receiver's answer. Pure. */
import type { DeliveryView } from '../../api.ts';

export const MAX_ATTEMPTS = 3;

/** After the last attempt it is pending for a while, though nothing is retried anymore. */
export function nameState({ state, attempts }: Pick<DeliveryView, 'state' | 'attempts'>): string {
  if (state !== 'pending' || attempts === 0) return state;
  return attempts < MAX_ATTEMPTS ? 'retrying' : 'failing';
}

type Answer = Pick<DeliveryView, 'status' | 'error'>;

/** The receiver's answer as text; null before the first attempt has ended. */
export function describeAnswer({ status, error }: Answer): string | null {
  const more = withoutStatus(error);
  if (status === null) return more;
  return more === null ? `HTTP ${status}` : `HTTP ${status}, ${more}`;
}

/** Such as “Delivery failed (500). Retrying.” */
export function describeFailure({ status, error, state }: Answer & Pick<DeliveryView, 'state'>): string {
  const more = withoutStatus(error);
  const code = status === null ? '' : ` (${status})`;
  const failure = `Delivery failed${code}${more === null ? '' : `: ${more}`}.`;
  return state === 'pending' ? `${failure} Retrying.` : failure;
}

/** The log's "answered 500" would repeat the status. */
const withoutStatus = (error: string | null): string | null =>
  error === null || /^answered [0-9]+$/.test(error) ? null : error;
