/** Sends an ended delivery's event once more. */
import { Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { DeliveryView, ResendView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { useAction } from '../parts/action.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Fault } from '../parts/page-states.tsx';

export function ResendDelivery({ delivery, size = 'sm' }: { delivery: DeliveryView; size?: string }) {
  const { id, state } = delivery;
  const base = useBase();
  const cache = useQueryClient();
  const { resendDeliveries } = useAccess();
  const resend = useAction({
    mutationFn: () => call<ResendView>('POST', `${base}/deliveries/${id}/resend`),
    onSuccess: () => announce('Resent.'),
    onSettled: () => cache.invalidateQueries({ queryKey: [base, 'deliveries'] }),
  });
  if (state === 'pending') return null;
  return (
    <Stack gap={4} align="flex-start">
      <AllowedButton
        isAllowed={resendDeliveries}
        reason="You don't have permission to resend deliveries in this namespace."
        size={size}
        variant="default"
        loading={resend.isPending}
        onClick={() => resend.mutate()}
        aria-label={`Resend ${id}`}
      >
        Resend
      </AllowedButton>
      {resend.error && <Fault error={resend.error} />}
    </Stack>
  );
}
