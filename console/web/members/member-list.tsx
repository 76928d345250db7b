/** Who has a role in the namespace, as far as the signed-in user may read that. */
import { Code, Table, Text } from '@mantine/core';
import type { MembersView, MemberView } from '../../api.ts';
import { useNamespace } from '../client/session.ts';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { describeRole } from './roles.ts';

const COLUMNS = ['Subject', 'Kind', 'Role', 'Access to Berth', 'Role binding'];

export function MemberList({ members }: MembersView) {
  return members === null ? <Unreadable /> : <MemberTable members={members} />;
}

function MemberTable({ members }: { members: MemberView[] }) {
  return (
    <>
      {members.length > 0 && (
        <ScrollTable label="Role bindings" minWidth={760} columns={COLUMNS}>
          {members.map(({ kind, name, role, binding }) => (
            <Table.Tr key={`${binding} ${kind} ${name}`}>
              <Table.Th scope="row" style={{ overflowWrap: 'anywhere' }}>
                {name}
              </Table.Th>
              <Table.Td>{kind}</Table.Td>
              <Table.Td>{role}</Table.Td>
              <Table.Td>{describeRole(role)}</Table.Td>
              <Table.Td>{binding}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
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
