/** Deletes an object of a list, once the person has said so twice. */
import { Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call } from '../call.ts';
import { useBase } from '../session.ts';
import { Confirm } from './confirm.tsx';

interface Deletion {
  /** Asks about the object of this name. */
  ask: (name: string) => void;
  /** Belongs into the page. */
  dialog: ReactNode;
}

/** `collection`: path below the namespace, and key of its query. `warning`: what it means. */
export function useDeletion(
  collection: string,
  { action, warning }: { action: string; warning: string },
): Deletion {
  const base = useBase();
  const cache = useQueryClient();
  const [leaving, setLeaving] = useState('');
  const [isAsking, { open, close }] = useDisclosure();
  const remove = useMutation({
    mutationFn: (name: string) => call('DELETE', `${base}/${collection}/${encodeURIComponent(name)}`),
    onSuccess: close,
    onSettled: () => cache.invalidateQueries({ queryKey: [base, collection] }),
  });
  const ask = (name: string) => {
    remove.reset();
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
    >
      <Text size="sm">{warning}</Text>
    </Confirm>
  );
  return { ask, dialog };
}
