/** Asks before something that cannot be undone. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Fault } from './page-states.tsx';

interface ConfirmProps {
  isOpen: boolean;
  title: string;
  /** What the button says: the deed. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
  isPending?: boolean;
  error?: Error | null;
  /** False where what opened it goes with the deed. */
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
      // What comes of a deed that is being done must not be missed.
      onClose={() => isPending || onClose()}
      title={title}
      returnFocus={returnsFocus}
      closeButtonProps={{ 'aria-label': 'Close', disabled: isPending }}
    >
      <Stack>
        <div>{children}</div>
        {error && <Fault error={error} />}
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
