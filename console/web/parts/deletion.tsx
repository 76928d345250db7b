/** Deletes an object of a list after confirmation. */
import { Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import type { Route, routes } from '../../routes.ts';
import { useWrite } from '../client/namespace.ts';
import { announce } from './announcer.tsx';
import { Confirm } from './confirm.tsx';
import { focusHeading } from './page.tsx';

interface Deletion {
  /** Opens the confirmation for this object. */
  ask: (name: string) => void;
  /** To be rendered in the page. */
  dialog: ReactNode;
}

type Deleting = typeof routes.deleteKey | typeof routes.deleteWebhook | typeof routes.deleteStorageCredential;

interface DeletionOptions {
  /** The route of the objects among which it is. */
  list: Route;
  action: string;
  /** The consequences. */
  warning: string;
}

/** `route`: deletes an object. */
export function useDeletion(route: Deleting, { list, action, warning }: DeletionOptions): Deletion {
  const [leaving, setLeaving] = useState('');
  const [isDone, setDone] = useState(false);
  const [isAsking, { open, close }] = useDisclosure();
  const remove = useWrite(
    route,
    { name: leaving },
    {
      refreshes: [list],
      onSuccess: () => {
        // The button that opened the dialog is removed with its row.
        setDone(true);
        close();
        focusHeading();
        announce(`${action}d ${leaving}.`);
      },
    },
  );
  const ask = (name: string) => {
    remove.reset();
    setDone(false);
    setLeaving(name);
    open();
  };
  const dialog = (
    <Confirm
      isOpen={isAsking}
      title={`${action} ${leaving}?`}
      action={action}
      onConfirm={() => remove.mutate()}
      onClose={close}
      isPending={remove.isPending}
      error={remove.error}
      returnsFocus={!isDone}
    >
      <Text size="sm">{warning}</Text>
    </Confirm>
  );
  return { ask, dialog };
}
