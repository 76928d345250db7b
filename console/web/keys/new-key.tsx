/** Creates a key. */
import { Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type BodyOf, routes } from '../../routes.ts';
import { useRefresh, useWrite } from '../client/namespace.ts';
import { NameField } from '../parts/name-field.tsx';
import { EXPIRIES, findExpiry, findFirstDate } from './expiry.ts';
import { KeyDialog, KeyForm, type KeySubmission } from './key-dialog.tsx';
import { LIMITS, useLimitFields } from './key-limits.tsx';

export function NewKeyDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const refresh = useRefresh();
  // The secret does not wait for the list.
  const onSettled = () => void refresh(routes.listKeys);
  const creation = useWrite(routes.createKey, {}, { refreshes: [], onSettled });
  return (
    <KeyDialog title="New API key" creation={creation} isOpen={isOpen} onClose={onClose}>
      {(submission) => <NewKeyForm submission={submission} />}
    </KeyDialog>
  );
}

function NewKeyForm({ submission }: { submission: KeySubmission<BodyOf<typeof routes.createKey>> }) {
  const [name, setName] = useState('');
  const { limits, render } = useLimitFields();
  const [expiry, setExpiry] = useState('never');
  const [date, setDate] = useState('');
  const body = () => ({ name, ...limits, expiresAt: findExpiry(expiry, date, Date.now()) });
  return (
    <KeyForm submission={submission} action="Create" body={body} fields={['name', ...LIMITS, 'expiresAt']}>
      {(errors) => (
        <>
          <NameField
            description="Lowercase letters, numbers and hyphens; for example, the application that uses it"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={errors.name}
          />
          {render(errors)}
          <Group grow align="flex-start">
            <Select
              label="Expires"
              data={EXPIRIES}
              value={expiry}
              onChange={(chosen) => setExpiry(chosen ?? 'never')}
              allowDeselect={false}
              error={errors.expiresAt}
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
        </>
      )}
    </KeyForm>
  );
}
