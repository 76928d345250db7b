/** Restarts all replicas of a deployment, or one. */
import { Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import type { DeploymentView, ReplicaView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { keyOf, useNamespace, useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { CHANGE_REASON, SourceWarning } from './source-warning.tsx';

export function RestartAll({ deployment: { name, source } }: { deployment: DeploymentView }) {
  const namespace = useNamespace();
  const cache = useQueryClient();
  const { manageDeployments } = useAccess();
  const [isOpen, dialog] = useDisclosure();
  const restart = useWrite(
    routes.restartDeployment,
    { name },
    {
      refreshes: [routes.readDeployment, routes.readManifest, routes.listReplicas],
      onSuccess: (changed) => {
        cache.setQueryData(keyOf(routes.readDeployment, { namespace, name }), changed);
        announce(`Restarting the replicas of ${name}.`);
        dialog.close();
      },
    },
  );
  return (
    <>
      <AllowedButton
        isAllowed={manageDeployments}
        reason={CHANGE_REASON}
        size="sm"
        variant="default"
        onClick={dialog.open}
      >
        Restart
      </AllowedButton>
      <Confirm
        isOpen={isOpen}
        title={`Restart all replicas of ${name}?`}
        action="Restart"
        onConfirm={() => restart.mutate()}
        onClose={dialog.close}
        isPending={restart.isPending}
        error={restart.error}
      >
        <SourceWarning source={source} />
        <Text size="sm">
          They are replaced in steps of rollout.maxSurge, and finish their requests first. Without a surge, a
          single replica leaves the endpoint without one until the new one is ready.
        </Text>
      </Confirm>
    </>
  );
}

export function RestartReplica({ deployment, replica }: { deployment: string; replica: ReplicaView }) {
  const { name, state } = replica;
  const { restartReplicas } = useAccess();
  const [isOpen, dialog] = useDisclosure();
  const restart = useWrite(
    routes.restartReplica,
    { name: deployment, pod: name },
    {
      refreshes: [routes.listReplicas, routes.readDeployment],
      onSuccess: () => {
        announce(`Restarting ${name}.`);
        dialog.close();
      },
    },
  );
  if (restartReplicas === false || state === 'terminating' || state === 'exited') return null;
  return (
    <>
      <AllowedButton
        isAllowed={restartReplicas}
        reason="You don't have permission to restart replicas in this namespace."
        size="compact-xs"
        variant="default"
        aria-label={`Restart ${name}`}
        onClick={dialog.open}
      >
        Restart
      </AllowedButton>
      <Confirm
        isOpen={isOpen}
        title={`Restart ${name}?`}
        action="Restart"
        onConfirm={() => restart.mutate()}
        onClose={dialog.close}
        isPending={restart.isPending}
        error={restart.error}
        returnsFocus={false}
      >
        <Text size="sm">
          It finishes its requests, while a new replica is created in its place, and waits for a GPU if none
          is free. If it is the only one, new requests wait or get HTTP 503 until that is ready.
        </Text>
      </Confirm>
    </>
  );
}
