/** Takes a request out of the queue. */
import { Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { RequestView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { useAction } from '../parts/action.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Fault } from '../parts/page-states.tsx';

interface CancelRequestProps {
  request: Pick<RequestView, 'id' | 'deployment' | 'status'>;
  size?: string;
}

export function CancelRequest({ request, size = 'sm' }: CancelRequestProps) {
  const { id, deployment, status } = request;
  const base = useBase();
  const cache = useQueryClient();
  const { cancelRequests } = useAccess();
  const cancel = useAction({
    mutationFn: () =>
      call('POST', `${base}/requests/${encodeURIComponent(deployment)}/${encodeURIComponent(id)}/cancel`),
    onSuccess: () => announce(`Request ${id} canceled.`),
    onSettled: () => cache.invalidateQueries({ queryKey: [base, 'requests'] }),
  });
  const isQueued = status === 'queued';
  return (
    <Stack gap={4} align="flex-start">
      <AllowedButton
        isAllowed={cancelRequests && isQueued}
        reason={
          isQueued
            ? "You don't have permission to cancel requests in this namespace."
            : 'It is running: only requests that are still queued can be canceled.'
        }
        size={size}
        variant="default"
        loading={cancel.isPending}
        onClick={() => cancel.mutate()}
        aria-label={`Cancel ${id}`}
      >
        Cancel
      </AllowedButton>
      {cancel.error && <Fault error={cancel.error} />}
    </Stack>
  );
}
