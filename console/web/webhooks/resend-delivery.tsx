/** Resends the event of a delivery that has ended. */
import type { DeliveryView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { announce } from '../parts/announcer.tsx';
import { PostButton } from '../parts/post-button.tsx';

export function ResendDelivery({ delivery, size = 'sm' }: { delivery: DeliveryView; size?: string }) {
  const { id, state } = delivery;
  const { resendDeliveries } = useAccess();
  const resend = useWrite(
    routes.resendDelivery,
    { id },
    { refreshes: [routes.listDeliveries, routes.readDelivery], onSuccess: () => announce('Resent.') },
  );
  if (state === 'pending') return null;
  return (
    <PostButton
      post={resend}
      isAllowed={resendDeliveries}
      reason="You don't have permission to resend deliveries in this namespace."
      size={size}
      aria-label={`Resend ${id}`}
    >
      Resend
    </PostButton>
  );
}
