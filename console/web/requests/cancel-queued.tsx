/** Cancels all queued requests of a deployment, after a confirmation. */
import { Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { routes } from '../../routes.ts';
import { useAction } from '../client/action.ts';
import { call } from '../client/call.ts';
import { useNamespace, useRefresh } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/confirm.tsx';

interface CancelQueuedProps {
  deployment: string;
  /** Requests in its queue. */
  queued: number;
}

const exact = (count: number): string => count.toLocaleString('en');
const requests = (count: number): string => (count === 1 ? 'request' : 'requests');

export function CancelQueued({ deployment, queued }: CancelQueuedProps) {
  const namespace = useNamespace();
  const refresh = useRefresh();
  const { cancelRequests } = useAccess();
  const [isOpen, { open, close }] = useDisclosure();
  /** At the click that opened the dialog; `queued` falls meanwhile. */
  const [wanted, setWanted] = useState(0);
  const [done, setDone] = useState(0);
  /** `before`: what was queued after the first confirmation stays, also when it is repeated after an error. */
  const run = useRef({ before: '', done: 0, isStopped: false });
  // Elsewhere nobody could stop it.
  useEffect(
    () => () => {
      run.current.isStopped = true;
    },
    [],
  );
  const cancel = useAction<void>({
    mutationFn: async () => {
      const { current } = run;
      current.isStopped = false;
      for (let hasMore = true; hasMore && !current.isStopped; ) {
        const part = await call(routes.cancelQueued, { namespace, deployment, before: current.before });
        current.before = String(part.before);
        current.done += part.canceled;
        setDone(current.done);
        // Requests that start faster than they are canceled leave nothing to do.
        hasMore = part.hasMore && part.canceled > 0;
      }
    },
    onSuccess: () => {
      close();
      announce(`${exact(run.current.done)} ${requests(run.current.done)} canceled.`);
    },
    onSettled: () => refresh(routes.listRequests, routes.readRequest, routes.listDeployments),
  });
  const start = () => {
    run.current = { before: '', done: 0, isStopped: false };
    setWanted(queued);
    setDone(0);
    cancel.reset();
    open();
  };
  if (queued === 0 && !isOpen) return null;
  return (
    <>
      <AllowedButton
        isAllowed={cancelRequests}
        reason="You don't have permission to cancel requests in this namespace."
        variant="default"
        color="red"
        onClick={start}
      >
        Cancel all {exact(queued)} queued…
      </AllowedButton>
      <Confirm
        isOpen={isOpen}
        title={`Cancel ${exact(wanted)} queued ${requests(wanted)}`}
        action="Cancel them all"
        onConfirm={() => cancel.mutate()}
        onClose={close}
        isPending={cancel.isPending}
        error={cancel.error}
        returnsFocus={false}
      >
        <Text size="sm">
          The requests of {deployment} that are queued when you confirm end as canceled, and are not charged.
          Each sends its webhook. Running ones continue. This cannot be undone.
        </Text>
        {(cancel.isPending || done > 0) && (
          <Group gap="sm" mt="sm">
            <Text size="sm" role="status">
              {exact(done)} of {exact(wanted)} canceled
            </Text>
            {cancel.isPending && (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => {
                  run.current.isStopped = true;
                }}
              >
                Stop
              </Button>
            )}
          </Group>
        )}
      </Confirm>
    </>
  );
}
