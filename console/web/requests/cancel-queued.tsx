/** Cancels all queued requests of a deployment, after a confirmation. */
import { Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { routes } from '../../routes.ts';
import { useAction } from '../client/action.ts';
import { call } from '../client/call.ts';
import { useNamespace, useRefresh } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { countOf } from '../usage/totals.ts';

interface CancelQueuedProps {
  deployment: string;
  /** Requests in its queue. */
  waiting: number;
}

export function CancelQueued({ deployment, waiting }: CancelQueuedProps) {
  const namespace = useNamespace();
  const refresh = useRefresh();
  const { cancelRequests } = useAccess();
  const [isOpen, { open, close }] = useDisclosure();
  const [done, setDone] = useState(0);
  const cancel = useAction<number>({
    mutationFn: async () => {
      let total = 0;
      for (let hasMore = true; hasMore; ) {
        const answer = await call(routes.cancelQueued, { namespace, deployment });
        total += answer.canceled;
        setDone(total);
        // Requests that start faster than they are canceled leave nothing to do.
        hasMore = answer.hasMore && answer.canceled > 0;
      }
      return total;
    },
    onSuccess: (total) => {
      close();
      announce(`${countOf(total, 'request')} canceled.`);
    },
    onSettled: () => refresh(routes.listRequests, routes.readRequest, routes.listDeployments),
  });
  const start = () => {
    setDone(0);
    cancel.reset();
    open();
  };
  return (
    <>
      <AllowedButton
        isAllowed={cancelRequests}
        reason="You don't have permission to cancel requests in this namespace."
        variant="default"
        color="red"
        onClick={start}
      >
        Cancel all {waiting.toLocaleString('en')} queued…
      </AllowedButton>
      <Confirm
        isOpen={isOpen}
        title={`Cancel ${countOf(waiting, 'queued request')}`}
        action="Cancel them all"
        onConfirm={() => cancel.mutate()}
        onClose={close}
        isPending={cancel.isPending}
        error={cancel.error}
        returnsFocus={false}
      >
        <Text size="sm">
          All queued requests of {deployment} end as canceled, and are not charged. Running ones continue. This
          cannot be undone.
        </Text>
        {cancel.isPending && (
          <Text size="sm" role="status">
            {done.toLocaleString('en')} of {waiting.toLocaleString('en')} canceled
          </Text>
        )}
      </Confirm>
    </>
  );
}
