/** The end of a dialog's form: the error that belongs to none of its fields, and the button that sends it. */
import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorAlert } from './page-states.tsx';

export function FormEnd(props: { error: Error | null; isBusy: boolean; children: ReactNode }) {
  return (
    <>
      {props.error && <ErrorAlert error={props.error} />}
      <Group justify="flex-end">
        <Button type="submit" loading={props.isBusy}>
          {props.children}
        </Button>
      </Group>
    </>
  );
}
