/** The namespace's API keys: usage, creation, revocation. */
import { Code } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyChange, KeyView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { LimitsDialog } from '../keys/key-limits.tsx';
import { KeyRow } from '../keys/key-row.tsx';
import { NewKeyDialog } from '../keys/new-key.tsx';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { useDeletion } from '../parts/deletion.tsx';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState, ErrorAlert } from '../parts/page-states.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { useURLDialog } from '../parts/url-dialog.ts';

const COLUMNS = [
  'Name',
  'State',
  'Requests this minute',
  'Tokens today (UTC)',
  'Priority',
  'Expires',
  'Created',
  'Actions',
];

export function KeysPage() {
  const base = useBase();
  const { manageKeys } = useAccess();
  const [isMaking, { open, close }] = useURLDialog('new');
  const query = useQuery({
    queryKey: [base, 'keys'],
    queryFn: ({ signal }) => call<KeyView[]>('GET', `${base}/keys`, undefined, signal),
  });
  return (
    <Page
      title="API keys"
      about="Each key works with every deployment in this namespace."
      actions={
        <AllowedButton
          isAllowed={manageKeys}
          reason="You don't have permission to create API keys in this namespace."
          onClick={open}
        >
          New key
        </AllowedButton>
      }
    >
      <NewKeyDialog isOpen={isMaking && manageKeys === true} onClose={close} />
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyState title="No keys yet">
              Clients send a key as <Code>Authorization: Bearer …</Code>. Create the first one with “New key”.
            </EmptyState>
          ) : (
            <KeyTable keys={keys} mayManage={manageKeys} />
          )
        }
      </Loaded>
    </Page>
  );
}

function KeyTable({ keys, mayManage }: { keys: KeyView[]; mayManage: boolean | undefined }) {
  const base = useBase();
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ queryKey: [base, 'keys'] });
  const findPath = ({ name }: KeyView) => `${base}/keys/${encodeURIComponent(name)}`;
  const toggle = useMutation({
    mutationFn: (key: KeyView) =>
      call('PATCH', findPath(key), { disabled: !key.disabled } satisfies KeyChange),
    onSettled: refresh,
  });
  const [edited, setEdited] = useState<KeyView>();
  const [isEditing, editing] = useDisclosure();
  const { ask, dialog } = useDeletion('keys', {
    action: 'Revoke',
    warning:
      'Clients that use this key are rejected immediately. This cannot be undone; to suspend the key temporarily, disable it instead.',
  });
  return (
    <>
      {toggle.error && <ErrorAlert error={toggle.error} />}
      <ScrollTable label="API keys" minWidth={960} columns={COLUMNS}>
        {keys.map((key) => (
          <KeyRow
            key={key.name}
            apiKey={key}
            mayManage={mayManage}
            isPending={toggle.isPending && toggle.variables.name === key.name}
            onEdit={() => {
              setEdited(key);
              editing.open();
            }}
            onToggle={() => toggle.mutate(key)}
            onRevoke={() => ask(key.name)}
          />
        ))}
      </ScrollTable>
      {dialog}
      {edited && <LimitsDialog apiKey={edited} isOpen={isEditing} onClose={editing.close} />}
    </>
  );
}
