/** What needs attention in the namespace, with links to where it is dealt with. */
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { ProblemsView, ProblemView } from '../../api.ts';
import { useNamespace } from '../client/namespace.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { useProblems } from '../problems/problem-count.tsx';
import { describeSubject, findProblemPath } from '../problems/problem-link.ts';

const COLUMNS: readonly Column<ProblemView>[] = [
  { by: 'problem', label: 'Problem', value: ({ title }) => title },
  { by: 'about', label: 'About', value: describeSubject },
  { by: 'details', label: 'Details', value: ({ message }) => message },
];
const textsOf = (problem: ProblemView) => [problem.title, describeSubject(problem), problem.message];

export function ProblemsPage() {
  const query = useProblems();
  return (
    <Page
      title="Problems"
      about="Deployments, queues, webhooks, buckets, keys and credit that need attention now."
    >
      <Loaded query={query}>
        {({ problems, total }) =>
          total === 0 ? (
            <EmptyState title="No problems">Everything you can see in this namespace works.</EmptyState>
          ) : (
            <ProblemList problems={problems} total={total} />
          )
        }
      </Loaded>
    </Page>
  );
}

function ProblemList({ problems, total }: ProblemsView) {
  const list = useArrangement(problems, { columns: COLUMNS, textsOf });
  return (
    <>
      <ArrangedTable label="Problems" minWidth={560} list={list}>
        {(problem) => (
          <ProblemRow key={`${problem.kind} ${problem.name} ${problem.title}`} problem={problem} />
        )}
      </ArrangedTable>
      {total > problems.length && (
        <Text size="sm">
          {problems.length} of {total} problems are shown.
        </Text>
      )}
    </>
  );
}

function ProblemRow({ problem }: { problem: ProblemView }) {
  const namespace = useNamespace();
  const { severity, title, message } = problem;
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <StateBadge state={title} tone={severity === 'error' ? 'bad' : 'caution'} />
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Anchor
          component={Link}
          to={`/${namespace}/${findProblemPath(problem)}`}
          size="sm"
          underline="always"
        >
          {describeSubject(problem)}
        </Anchor>
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{message}</Table.Td>
    </Table.Tr>
  );
}
