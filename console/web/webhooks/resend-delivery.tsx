/** Resends the event of a delivery that has ended. */
import type { DeliveryView } from '../../api.ts';
import { useAccess } from '../client/session.ts';
import { PostButton } from '../parts/post-button.tsx';

export function ResendDelivery({ delivery, size = 'sm' }: { delivery: DeliveryView; size?: string }) {
  const { id, state } = delivery;
  const { resendDeliveries } = useAccess();
  if (state === 'pending') return null;
  return (
    <PostButton
      collection="deliveries"
      path={`${id}/resend`}
      announcement="Resent."
      isAllowed={resendDeliveries}
      reason="You don't have permission to resend deliveries in this namespace."
      size={size}
      aria-label={`Resend ${id}`}
    >
      Resend
    </PostButton>
  );
}
