/** Deletes an object of a list after confirmation. */
import { Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call } from '../client/call.ts';
import { useBase } from '../client/session.ts';
import { useAction } from './action.ts';
import { announce } from './announcer.tsx';
import { Confirm } from './confirm.tsx';
import { focusHeading } from './page.tsx';

interface Deletion {
  /** Opens the confirmation for this object. */
  ask: (name: string) => void;
  /** To be rendered in the page. */
  dialog: ReactNode;
}

/** `collection`: path below the namespace, and key of its query. `warning`: the consequences. */
export function useDeletion(
  collection: string,
  { action, warning }: { action: string; warning: string },
): Deletion {
  const base = useBase();
  const cache = useQueryClient();
  const [leaving, setLeaving] = useState('');
  const [isDone, setDone] = useState(false);
  const [isAsking, { open, close }] = useDisclosure();
  const remove = useAction({
    mutationFn: (name: string) => call('DELETE', `${base}/${collection}/${encodeURIComponent(name)}`),
    onSuccess: (_, name) => {
      // The button that opened the dialog is removed with its row.
      setDone(true);
      close();
      focusHeading();
      announce(`${action}d ${name}.`);
    },
    onSettled: () => cache.invalidateQueries({ queryKey: [base, collection] }),
  });
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
      onConfirm={() => remove.mutate(leaving)}
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
