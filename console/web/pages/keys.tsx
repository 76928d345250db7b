/** The namespace's API keys: usage, creation, revocation. */
import { Code } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyChange, KeyTotalView, KeyView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase } from '../client/session.ts';
import { LimitsDialog } from '../keys/key-limits.tsx';
import { KeyRow, type KeyTotal } from '../keys/key-row.tsx';
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
  'Last 30 days',
  'Last used',
  'Priority',
  'Expires',
  'Created',
  'Actions',
];

/** They are written by gateways each 10 s, and cost a read for each deployment and day. */
const TOTALS_INTERVAL_MS = 60_000;
const NO_USE: KeyTotal = { requests: 0, inputTokens: 0, outputTokens: 0, cost: '0' };

export function KeysPage() {
  const base = useBase();
<<<<<<< HEAD
  const { manageKeys } = useAccess();
  const [isMaking, { open, close }] = useURLDialog('new');
=======
  const { manageKeys, readUsage = false } = useAccess();
  const [isMaking, { open, close }] = useDisclosure();
>>>>>>> ba62ebe0 (Show the ends of API keys, their last use, who made them, and what they used)
  const query = useQuery({
    queryKey: [base, 'keys'],
    queryFn: ({ signal }) => call<KeyView[]>('GET', `${base}/keys`, undefined, signal),
  });
  const { data: totals } = useQuery({
    queryKey: [base, 'usage', 'keys'],
    queryFn: ({ signal }) => call<KeyTotalView[]>('GET', `${base}/usage/keys/totals`, undefined, signal),
    enabled: readUsage,
    refetchInterval: TOTALS_INTERVAL_MS,
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
            <KeyTable keys={keys} totals={totals} mayManage={manageKeys} />
          )
        }
      </Loaded>
    </Page>
  );
}

interface KeyTableProps {
  keys: KeyView[];
  /** undefined while they are not known. */
  totals: KeyTotalView[] | undefined;
  mayManage: boolean | undefined;
}

function KeyTable({ keys, totals, mayManage }: KeyTableProps) {
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
      <ScrollTable label="API keys" minWidth={1180} columns={COLUMNS}>
        {keys.map((key) => (
          <KeyRow
            key={key.name}
            apiKey={key}
            total={totals && (totals.find((each) => each.key === key.name) ?? NO_USE)}
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
