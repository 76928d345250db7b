/** Replaces a key: a new one with its limits, while clients change over. */
import { Checkbox, Text } from '@mantine/core';
import { useState } from 'react';
import type { KeyView } from '../../api.ts';
import { type BodyOf, routes } from '../../routes.ts';
import { useRefresh, useWrite } from '../client/namespace.ts';
import { NameField } from '../parts/name-field.tsx';
import { KeyDialog, KeyForm, type KeySubmission } from './key-dialog.tsx';
import { findNextName } from './key-state.ts';

interface RollKeyDialogProps {
  apiKey: KeyView;
  isOpen: boolean;
  onClose: () => void;
}

export function RollKeyDialog({ apiKey: { name }, isOpen, onClose }: RollKeyDialogProps) {
  const refresh = useRefresh();
  // The secret does not wait for the list.
  const onSettled = () => void refresh(routes.listKeys);
  const creation = useWrite(routes.rollKey, { name }, { refreshes: [], onSettled });
  return (
    <KeyDialog title={`Roll ${name}`} creation={creation} isOpen={isOpen} onClose={onClose}>
      {(submission) => <RollForm key={name} rolled={name} submission={submission} />}
    </KeyDialog>
  );
}

function RollForm({
  rolled,
  submission,
}: {
  rolled: string;
  submission: KeySubmission<BodyOf<typeof routes.rollKey>>;
}) {
  const [name, setName] = useState(findNextName(rolled));
  const [keepOld, setKeepOld] = useState(true);
  return (
    <KeyForm submission={submission} action="Roll" body={() => ({ name, keepOld })} fields={['name']}>
      {(errors) => (
        <>
          <Text size="sm">Creates a key with the same limits and the same lifetime as {rolled}.</Text>
          <NameField
            label="Name of the new key"
            description={undefined}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={errors.name}
          />
          <Checkbox
            label="Keep the old key for 24 hours"
            description="Gives clients time to switch. Otherwise it is disabled immediately."
            checked={keepOld}
            onChange={(event) => setKeepOld(event.currentTarget.checked)}
          />
        </>
      )}
    </KeyForm>
  );
}
