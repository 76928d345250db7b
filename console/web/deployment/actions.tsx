/** Pauses, resumes, scales and deletes a deployment. */

import { Group, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { type BodyOf, routes } from '../../routes.ts';
import { splitError } from '../client/call.ts';
import { keyOf, useNamespace, useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { FormEnd } from '../parts/form-end.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { RestartAll } from './restart.tsx';
import { CHANGE_REASON } from './source-warning.tsx';

function useChange(
  name: string,
  describe: (change: BodyOf<typeof routes.changeDeployment>) => string,
  onDone: () => void,
) {
  const namespace = useNamespace();
  const cache = useQueryClient();
  return useWrite(
    routes.changeDeployment,
    { name },
    {
      refreshes: [routes.listDeployments, routes.readDeployment, routes.readManifest],
      onSuccess: (changed, change) => {
        cache.setQueryData(keyOf(routes.readDeployment, { namespace, name }), changed);
        announce(describe(change));
        onDone();
      },
    },
  );
}

export function DeploymentActions({ deployment }: { deployment: DeploymentView }) {
  const { name, isPaused, adapterOf } = deployment;
  const { manageDeployments } = useAccess();
  const [isScaling, scaling] = useDisclosure();
  const [isPausing, pausing] = useDisclosure();
  const [isDeleting, deleting] = useDisclosure();
  const pause = useChange(
    name,
    ({ paused }) => (paused ? `Paused ${name}.` : `Resumed ${name}.`),
    pausing.close,
  );
  const button = {
    isAllowed: manageDeployments,
    reason: CHANGE_REASON,
    size: 'sm',
    variant: 'default',
  } as const;
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        {isPaused ? (
          <AllowedButton
            {...button}
            loading={pause.isPending}
            onClick={() => pause.mutate({ paused: false })}
          >
            Resume
          </AllowedButton>
        ) : (
          <AllowedButton {...button} onClick={pausing.open}>
            Pause
          </AllowedButton>
        )}
        {adapterOf === null && (
          <AllowedButton {...button} onClick={scaling.open}>
            Scale
          </AllowedButton>
        )}
        {adapterOf === null && !isPaused && <RestartAll deployment={deployment} />}
        <AllowedButton {...button} variant="subtle" color="red" onClick={deleting.open}>
          Delete
        </AllowedButton>
      </Group>
      {pause.error && !isPausing && <ErrorAlert error={pause.error} />}
      <Confirm
        isOpen={isPausing}
        title={`Pause ${name}?`}
        action="Pause"
        onConfirm={() => pause.mutate({ paused: true })}
        onClose={pausing.close}
        isPending={pause.isPending}
        error={pause.error}
      >
        <Text size="sm">
          {adapterOf === null
            ? 'Its replicas shut down, and requests get HTTP 503 until you resume it.'
            : 'Requests get HTTP 503 until you resume it.'}
        </Text>
      </Confirm>
      <Modal
        opened={isScaling}
        onClose={scaling.close}
        title={`Scale ${name}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <ScaleForm deployment={deployment} onDone={scaling.close} />
      </Modal>
      <DeleteDialog name={name} isOpen={isDeleting} onClose={deleting.close} />
    </Stack>
  );
}

function ScaleForm({
  deployment: { name, size },
  onDone,
}: {
  deployment: DeploymentView;
  onDone: () => void;
}) {
  const [wanted, setWanted] = useState(size);
  const change = useChange(name, () => `Scaled ${name}.`, onDone);
  const wrong = splitError(change.error, ['replicas', 'scaling']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate('replicas' in wanted ? wanted : { scaling: wanted });
  };
  const number = {
    min: 0,
    max: 1_000,
    allowDecimal: false,
    clampBehavior: 'strict',
    required: true,
  } as const;
  return (
    <form onSubmit={submit}>
      <Stack>
        {'replicas' in wanted ? (
          <NumberInput
            {...number}
            label="Replicas"
            description="Each replica uses its own GPUs."
            value={wanted.replicas}
            onChange={(value) => setWanted({ replicas: Number(value) })}
            error={wrong.fields.replicas}
            data-autofocus
          />
        ) : (
          <Group grow align="flex-start">
            <NumberInput
              {...number}
              label="Minimum"
              description="0 allows scaling to zero."
              value={wanted.min}
              onChange={(value) => setWanted({ ...wanted, min: Number(value) })}
              error={wrong.fields.scaling}
              data-autofocus
            />
            <NumberInput
              {...number}
              min={1}
              label="Maximum"
              description="Each replica uses its own GPUs."
              value={wanted.max}
              onChange={(value) => setWanted({ ...wanted, max: Number(value) })}
            />
          </Group>
        )}
        <FormEnd error={wrong.rest} isBusy={change.isPending}>
          Scale
        </FormEnd>
      </Stack>
    </form>
  );
}

function DeleteDialog({ name, isOpen, onClose }: { name: string; isOpen: boolean; onClose: () => void }) {
  const namespace = useNamespace();
  const navigate = useNavigate();
  const remove = useWrite(
    routes.deleteDeployment,
    { name },
    {
      refreshes: [routes.listDeployments],
      onSuccess: () => {
        announce(`Deleted ${name}.`);
        void navigate(`/${namespace}/deployments`);
      },
    },
  );
  return (
    <Confirm
      isOpen={isOpen}
      title={`Delete ${name}?`}
      action="Delete"
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      isPending={remove.isPending}
      error={remove.error}
    >
      <Text size="sm">Its endpoint is removed. Running requests finish first; queued ones are canceled.</Text>
    </Confirm>
  );
}
