/** The last specs of a deployment, and the way back to one. */
import { Badge, Stack, Table, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { DeploymentView, HistoryView, RevisionView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { keyOf, useNamespace, useRead, useWrite } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { AllowedButton } from '../parts/allowed-button.tsx';
import { announce } from '../parts/announcer.tsx';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Loaded } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { FieldChanges } from './field-changes.tsx';
import { CHANGE_REASON, SourceWarning } from './source-warning.tsx';

const COLUMNS: readonly Column<RevisionView>[] = [
  { by: 'revision', label: 'Revision', value: ({ revision }) => revision, isLargestFirst: true },
  { by: 'time', label: 'Time', value: ({ at }) => at, isLargestFirst: true },
  { by: 'who', label: 'Who', value: describeAuthor },
  { by: 'what', label: 'What changed', value: listFields },
];

const textsOf = (revision: RevisionView) => [
  String(revision.revision),
  describeAuthor(revision),
  listFields(revision),
];

/** Not with each change of a deployment, such as of its status: an answer may be large. */
const INTERVAL_MS = 10_000;

/** Fields of a change in the table; the dialog lists more. */
const MAX_SHOWN = 6;

function describeAuthor({ user, program }: RevisionView): string {
  if (user !== null) return `${user}, via the console`;
  return program || 'Unknown';
}

function listFields({ change }: RevisionView): string {
  return change ? change.changes.map(({ field }) => field).join(', ') : 'The oldest that is kept';
}

type Source = Pick<DeploymentView, 'name' | 'source'>;

export function History({ deployment }: { deployment: Source }) {
  const query = useRead(routes.readHistory, { name: deployment.name }, { refetchInterval: INTERVAL_MS });
  return (
    <Loaded query={query}>
      {(history) =>
        history.revisions.length === 0 ? (
          <EmptyState title="No revisions yet">The operator records each spec within seconds.</EmptyState>
        ) : (
          <Revisions deployment={deployment} history={history} />
        )
      }
    </Loaded>
  );
}

function Revisions({ deployment, history }: { deployment: Source; history: HistoryView }) {
  const { manageDeployments } = useAccess();
  const list = useArrangement(history.revisions, { columns: COLUMNS, textsOf, prefix: 'history-' });
  /** As it was shown: what is confirmed must not change below the dialog. */
  const [chosen, setChosen] = useState<{ revision: RevisionView; history: HistoryView }>();
  const isViewer = manageDeployments === false;
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed" maw="48rem">
        The last ten specs. How many replicas run, and the traffic of other versions, are not part of them: a
        rollback leaves both as they are. Programs name themselves, and the console names its user: for proof,
        see the audit log of the API server.
      </Text>
      <ArrangedTable label="Revisions" minWidth={720} list={list} rest={isViewer ? [] : ['Roll back']}>
        {(revision) => (
          <Table.Tr key={revision.revision}>
            <Table.Th scope="row" fw={500}>
              {revision.revision}
              {revision.isCurrent && (
                <Badge variant="light" tt="none" size="sm" ml={6}>
                  Current
                </Badge>
              )}
            </Table.Th>
            <Table.Td style={{ whiteSpace: 'nowrap' }}>
              <Timestamp at={revision.at} />
            </Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{describeAuthor(revision)}</Table.Td>
            <Table.Td maw={520}>
              {revision.change ? (
                <FieldChanges difference={revision.change} max={MAX_SHOWN} />
              ) : (
                <Text size="sm" c="dimmed">
                  The oldest that is kept
                </Text>
              )}
            </Table.Td>
            {!isViewer && (
              <Table.Td>
                {revision.rollback.changes.length > 0 && (
                  <AllowedButton
                    isAllowed={manageDeployments}
                    reason={CHANGE_REASON}
                    size="xs"
                    variant="default"
                    aria-label={`Roll back to revision ${revision.revision}`}
                    onClick={() => setChosen({ revision, history })}
                  >
                    Roll back
                  </AllowedButton>
                )}
              </Table.Td>
            )}
          </Table.Tr>
        )}
      </ArrangedTable>
      {chosen && <RollbackDialog deployment={deployment} {...chosen} onClose={() => setChosen(undefined)} />}
    </Stack>
  );
}

interface RollbackProps {
  deployment: Source;
  revision: RevisionView;
  history: HistoryView;
  onClose: () => void;
}

function RollbackDialog({ deployment, revision: { revision, rollback }, history, onClose }: RollbackProps) {
  const { name, source } = deployment;
  const namespace = useNamespace();
  const cache = useQueryClient();
  const rollBack = useWrite(
    routes.rollBack,
    { name },
    {
      refreshes: [routes.listDeployments, routes.readDeployment, routes.readManifest, routes.readHistory],
      onSuccess: (changed) => {
        cache.setQueryData(keyOf(routes.readDeployment, { namespace, name }), changed);
        announce(`Rolled ${name} back to revision ${revision}.`);
        onClose();
      },
    },
  );
  return (
    <Confirm
      isOpen
      title={`Roll ${name} back to revision ${revision}?`}
      action="Roll back"
      onConfirm={() => rollBack.mutate({ revision, version: history.version })}
      onClose={onClose}
      isPending={rollBack.isPending}
      error={rollBack.error}
      returnsFocus={false}
    >
      <Stack gap="sm">
        <SourceWarning source={source} />
        <Text size="sm">This changes, and is recorded as a new revision:</Text>
        <FieldChanges difference={rollback} />
        <Text size="sm">
          If the pods change, they are replaced in steps of rollout.maxSurge, and finish their requests first.
          Pausing, replicas, scaling and traffic stay as they are.
        </Text>
      </Stack>
    </Confirm>
  );
}
