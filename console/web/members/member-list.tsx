/** Who has a role in the namespace, as far as the signed-in user may read that. */
import { Code, Table, Text } from '@mantine/core';
import type { MembersView, MemberView } from '../../api.ts';
import { useNamespace } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { describeRole } from './roles.ts';

const COLUMNS: readonly Column<MemberView>[] = [
  { by: 'subject', label: 'Subject', value: ({ name }) => name },
  { by: 'kind', label: 'Kind', value: ({ kind }) => kind },
  { by: 'role', label: 'Role', value: ({ role }) => role },
  { by: 'access', label: 'Access to Berth', value: ({ role }) => describeRole(role) },
  { by: 'binding', label: 'Role binding', value: ({ binding }) => binding },
];

const textsOf = ({ name, kind, role, binding }: MemberView) => [name, kind, role, binding];

export function MemberList({ members }: MembersView) {
  return members === null ? <Unreadable /> : <MemberTable members={members} />;
}

function MemberTable({ members }: { members: MemberView[] }) {
  const list = useArrangement(members, { columns: COLUMNS, textsOf, prefix: 'members-' });
  return (
    <>
      {members.length > 0 && (
        <ArrangedTable label="Role bindings" minWidth={760} list={list}>
          {({ kind, name, role, binding }) => (
            <Table.Tr key={`${binding} ${kind} ${name}`}>
              <Table.Th scope="row" style={{ overflowWrap: 'anywhere' }}>
                {name}
              </Table.Th>
              <Table.Td>{kind}</Table.Td>
              <Table.Td>{role}</Table.Td>
              <Table.Td>{describeRole(role)}</Table.Td>
              <Table.Td>{binding}</Table.Td>
            </Table.Tr>
          )}
        </ArrangedTable>
      )}
      <Text size="sm" c="dimmed">
        {members.length === 0 && 'This namespace has no role bindings. '}
        Cluster-wide role bindings are not listed here.
      </Text>
    </>
  );
}

function Unreadable() {
  const namespace = useNamespace();
  return (
    <Text size="sm" c="dimmed">
      You don't have permission to list role bindings in this namespace, or the API server doesn't support
      them. An administrator can list them with <Code>kubectl get rolebindings -n {namespace} -o wide</Code>.
    </Text>
  );
}
