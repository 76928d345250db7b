/** A dialog that makes a key: first a form, then the key's secret, which is shown only once. */

import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { UseMutationResult } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import type { NewKeyView } from '../../api.ts';
import { splitError } from '../client/call.ts';
import { Copyable } from '../parts/copyable.tsx';
import { FormEnd } from '../parts/form-end.tsx';

/** How a form in the dialog sends what it makes. */
export interface KeySubmission<Body> {
  onSubmit: (body: Body) => void;
  isPending: boolean;
  error: Error | null;
}

interface KeyDialogProps<Body> {
  title: string;
  /** Makes the key. */
  creation: UseMutationResult<NewKeyView, Error, Body>;
  isOpen: boolean;
  onClose: () => void;
  /** The form. */
  children: (submission: KeySubmission<Body>) => ReactNode;
}

export function KeyDialog<Body>({ title, creation, isOpen, onClose, children }: KeyDialogProps<Body>) {
  const { data: created, isPending, error, mutate: onSubmit } = creation;
  const close = () => {
    creation.reset();
    onClose();
  };
  // Prevents closing the secret by accident.
  const canClose = creation.isIdle || creation.isError;
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={created ? `API key ${created.key.name} created` : title}
      closeOnClickOutside={canClose}
      closeOnEscape={canClose}
      withCloseButton={canClose}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {created ? (
        <Secret secret={created.secret} onConfirm={close} />
      ) : (
        children({ onSubmit, isPending, error })
      )}
    </Modal>
  );
}

interface KeyFormProps<Body> {
  submission: KeySubmission<Body>;
  /** Label of the button that sends the form. */
  action: string;
  body: () => Body;
  /** Fields that show their own errors. */
  fields: string[];
  children: (errors: Record<string, string>) => ReactNode;
}

export function KeyForm<Body>({ submission, action, body, fields, children }: KeyFormProps<Body>) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    submission.onSubmit(body());
  };
  const wrong = splitError(submission.error, fields);
  return (
    <form onSubmit={submit}>
      <Stack>
        {children(wrong.fields)}
        <FormEnd error={wrong.rest} isBusy={submission.isPending}>
          {action}
        </FormEnd>
      </Stack>
    </form>
  );
}

/** The secret, which is shown only once. */
function Secret({ secret, onConfirm }: { secret: string; onConfirm: () => void }) {
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
