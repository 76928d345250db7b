/** Confirmation dialog for actions that cannot be undone. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorAlert } from './page-states.tsx';

interface ConfirmProps {
  isOpen: boolean;
  title: string;
  /** Label of the button. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
  isPending?: boolean;
  error?: Error | null;
  /** False if the element that opened it is removed by the action. */
  returnsFocus?: boolean;
  children: ReactNode;
}

export function Confirm(props: ConfirmProps) {
  const {
    isOpen,
    title,
    action,
    onConfirm,
    onClose,
    isPending,
    error,
    returnsFocus = true,
    children,
  } = props;
  return (
    <Modal
      opened={isOpen}
      // The result of an action in progress must stay visible.
      onClose={() => isPending || onClose()}
      title={title}
      returnFocus={returnsFocus}
      closeButtonProps={{ 'aria-label': 'Close', disabled: isPending }}
    >
      <Stack>
        <div>{children}</div>
        {error && <ErrorAlert error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} disabled={isPending} data-autofocus>
            Cancel
          </Button>
          <Button color="red" onClick={onConfirm} loading={isPending}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
