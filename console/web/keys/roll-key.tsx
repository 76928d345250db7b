/** Replaces a key: a new one with its limits, whose secret is shown once, while clients change over. */
import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { KeyRoll, KeyView, NewKeyView } from '../../api.ts';
import { call, splitError } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { useAction } from '../parts/action.ts';
import { OBJECT_NAME } from '../parts/object-name.ts';
import { ErrorAlert } from '../parts/page-states.tsx';
import { findNextName } from './key-state.ts';
import { Secret } from './new-key.tsx';

interface RollKeyDialogProps {
  apiKey: KeyView;
  isOpen: boolean;
  onClose: () => void;
}

export function RollKeyDialog({ apiKey, isOpen, onClose }: RollKeyDialogProps) {
  const base = useBase();
  const cache = useQueryClient();
  const roll = useAction({
    mutationFn: (wanted: KeyRoll) =>
      call<NewKeyView>('POST', `${base}/keys/${encodeURIComponent(apiKey.name)}/roll`, wanted),
    onSettled: () => void cache.invalidateQueries({ queryKey: [base, 'keys'] }),
  });
  const made = roll.data;
  const close = () => {
    roll.reset();
    onClose();
  };
  // Prevents closing the secret by accident.
  const canClose = roll.isIdle || roll.isError;
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={made ? `API key ${made.key.name} created` : `Roll ${apiKey.name}`}
      closeOnClickOutside={canClose}
      closeOnEscape={canClose}
      withCloseButton={canClose}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {made ? (
        <Secret secret={made.secret} onConfirm={close} />
      ) : (
        <RollForm
          key={apiKey.name}
          apiKey={apiKey}
          isPending={roll.isPending}
          error={roll.error}
          onSubmit={(wanted) => roll.mutate(wanted)}
        />
      )}
    </Modal>
  );
}

interface RollFormProps {
  apiKey: KeyView;
  isPending: boolean;
  error: Error | null;
  onSubmit: (wanted: KeyRoll) => void;
}

function RollForm({ apiKey, isPending, error, onSubmit }: RollFormProps) {
  const [name, setName] = useState(findNextName(apiKey.name));
  const [keepOld, setKeepOld] = useState(true);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit({ name, keepOld });
  };
  const wrong = splitError(error, ['name']);
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">Creates a key with the same limits and the same lifetime as {apiKey.name}.</Text>
        <TextInput
          label="Name of the new key"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          pattern={OBJECT_NAME}
          title="Lowercase letters, numbers and hyphens"
          maxLength={200}
          required
          error={wrong.fields.name}
          data-autofocus
        />
        <Checkbox
          label="Keep the old key for 24 hours"
          description="Gives clients time to switch. Otherwise it is disabled immediately."
          checked={keepOld}
          onChange={(event) => setKeepOld(event.currentTarget.checked)}
        />
        {wrong.rest && <ErrorAlert error={wrong.rest} />}
        <Group justify="flex-end">
          <Button type="submit" loading={isPending}>
            Roll
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
