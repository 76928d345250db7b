/** The keys, one a row, and what can be done with them. */
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyTotalView, KeyView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { call } from '../client/call.ts';
import { useNamespace, useRefresh } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { useDeletion } from '../parts/deletion.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';
import { LimitsDialog } from './key-limits.tsx';
import { KeyRow, type KeyTotal } from './key-row.tsx';
import { findState } from './key-state.ts';
import { RollKeyDialog } from './roll-key.tsx';

const NO_USE: KeyTotal = { requests: 0, inputTokens: 0, outputTokens: 0, cost: '0' };

interface ListedKey extends KeyView {
  /** undefined while it is not known. */
  total: KeyTotal | undefined;
}

const COLUMNS: readonly Column<ListedKey>[] = [
  { by: 'name', label: 'Name', value: ({ name }) => name },
  { by: 'state', label: 'State', value: findState },
  {
    by: 'requests',
    label: 'Requests this minute',
    value: ({ usage }) => usage?.requestsThisMinute ?? null,
    isLargestFirst: true,
  },
  {
    by: 'tokens',
    label: 'Tokens today (UTC)',
    value: ({ usage }) => usage?.tokensToday ?? null,
    isLargestFirst: true,
  },
  {
    by: 'month',
    label: 'Last 30 days',
    value: ({ total }) => total?.requests ?? null,
    isLargestFirst: true,
  },
  { by: 'used', label: 'Last used', value: ({ usage }) => usage?.lastUsedAt ?? null, isLargestFirst: true },
  { by: 'priority', label: 'Priority', value: ({ priority }) => priority, isLargestFirst: true },
  { by: 'expires', label: 'Expires', value: ({ expiresAt }) => expiresAt },
  { by: 'created', label: 'Created', value: ({ createdAt }) => createdAt, isLargestFirst: true },
];

const textsOf = (key: ListedKey) => [key.name, key.hint, key.creator?.name ?? null, findState(key)];

interface KeyTableProps {
  keys: KeyView[];
  /** undefined while they are not known. */
  totals: KeyTotalView[] | undefined;
  mayManage: boolean | undefined;
}

export function KeyTable({ keys, totals, mayManage }: KeyTableProps) {
  const namespace = useNamespace();
  const refresh = useRefresh();
  const toggle = useMutation({
    mutationFn: ({ name, disabled }: KeyView) =>
      call(routes.changeKey, { namespace, name }, { disabled: !disabled }),
    onSettled: () => refresh(routes.listKeys),
  });
  const [edited, setEdited] = useState<KeyView>();
  const [isEditing, editing] = useDisclosure();
  const [rolled, setRolled] = useState<KeyView>();
  const [isRolling, rolling] = useDisclosure();
  const { ask, dialog } = useDeletion(routes.deleteKey, {
    list: routes.listKeys,
    action: 'Revoke',
    warning:
      'Clients that use this key are rejected immediately. This cannot be undone; to suspend the key temporarily, disable it instead.',
  });
  const list = useArrangement(
    keys.map((key): ListedKey => ({ ...key, total: totals && findTotal(totals, key) })),
    { columns: COLUMNS, textsOf },
  );
  return (
    <>
      {toggle.error && <ErrorAlert error={toggle.error} />}
      <ArrangedTable label="API keys" minWidth={1120} list={list} rest={['Actions']}>
        {(key) => (
          <KeyRow
            key={key.name}
            apiKey={key}
            total={key.total}
            mayManage={mayManage}
            isPending={toggle.isPending && toggle.variables.name === key.name}
            onEdit={() => {
              setEdited(key);
              editing.open();
            }}
            onRoll={() => {
              setRolled(key);
              rolling.open();
            }}
            onToggle={() => toggle.mutate(key)}
            onRevoke={() => ask(key.name)}
          />
        )}
      </ArrangedTable>
      {dialog}
      {edited && <LimitsDialog apiKey={edited} isOpen={isEditing} onClose={editing.close} />}
      {rolled && <RollKeyDialog apiKey={rolled} isOpen={isRolling} onClose={rolling.close} />}
    </>
  );
}

const findTotal = (totals: readonly KeyTotalView[], { name }: KeyView): KeyTotal =>
  totals.find(({ key }) => key === name) ?? NO_USE;
