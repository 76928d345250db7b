/** Creates a key: first a form, then the secret, which is shown only once. */
import { Alert, Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { NewKey, NewKeyView } from '../../api.ts';
import { call, splitError } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { useAction } from '../parts/action.ts';
import { Copyable } from '../parts/copyable.tsx';
import { OBJECT_NAME } from '../parts/object-name.ts';
import { ErrorAlert } from '../parts/page-states.tsx';
import { EXPIRIES, findExpiry, findFirstDate } from './expiry.ts';
import { LIMITS, useLimitFields } from './key-limits.tsx';

export function NewKeyDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const base = useBase();
  const cache = useQueryClient();
  const create = useAction({
    mutationFn: (key: NewKey) => call<NewKeyView>('POST', `${base}/keys`, key),
    onSuccess: () => void cache.invalidateQueries({ queryKey: [base, 'keys'] }),
  });
  const made = create.data;
  const close = () => {
    create.reset();
    onClose();
  };
  // Prevents closing the secret by accident.
  const canClose = create.isIdle || create.isError;
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={made ? `API key ${made.key.name} created` : 'New API key'}
      closeOnClickOutside={canClose}
      closeOnEscape={canClose}
      withCloseButton={canClose}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {made ? <Secret secret={made.secret} onConfirm={close} /> : <KeyForm create={create} />}
    </Modal>
  );
}

function KeyForm({ create }: { create: UseMutationResult<NewKeyView, Error, NewKey> }) {
  const [name, setName] = useState('');
  const { limits, render } = useLimitFields();
  const [expiry, setExpiry] = useState('never');
  const [date, setDate] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({
      name,
      ...limits,
      expiresAt: findExpiry(expiry, date, Date.now()),
    });
  };
  const wrong = splitError(create.error, ['name', ...LIMITS, 'expiresAt']);
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name"
          description="Lowercase letters, numbers and hyphens; for example, the application that uses it"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          pattern={OBJECT_NAME}
          title="Lowercase letters, numbers and hyphens"
          maxLength={200}
          required
          error={wrong.fields.name}
          data-autofocus
        />
        {render(wrong.fields)}
        <Group grow align="flex-start">
          <Select
            label="Expires"
            data={EXPIRIES}
            value={expiry}
            onChange={(chosen) => setExpiry(chosen ?? 'never')}
            allowDeselect={false}
            error={wrong.fields.expiresAt}
          />
          {expiry === 'date' && (
            <TextInput
              type="date"
              label="Date"
              value={date}
              min={findFirstDate(Date.now())}
              onChange={(event) => setDate(event.currentTarget.value)}
              required
            />
          )}
        </Group>
        {wrong.rest && <ErrorAlert error={wrong.rest} />}
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** What nobody sees again. */
export function Secret({ secret, onConfirm }: { secret: string; onConfirm: () => void }) {
  return (
    <Stack>
      <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} title="Copy it now">
        You won't see it again.
      </Alert>
      <Copyable text={secret} label="secret" />
      <Group justify="flex-end">
        <Button onClick={onConfirm}>Done</Button>
      </Group>
    </Stack>
  );
}
