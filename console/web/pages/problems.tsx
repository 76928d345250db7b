/** What needs attention in the namespace, with links to where it is dealt with. */
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { ProblemView } from '../../api.ts';
import { useNamespace } from '../client/session.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { useProblems } from '../problems/problem-count.tsx';
import { describeSubject, findProblemPath } from '../problems/problem-link.ts';

const COLUMNS = ['Problem', 'About', 'Details'];

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
            <>
              <ScrollTable label="Problems" minWidth={560} columns={COLUMNS}>
                {problems.map((problem) => (
                  <ProblemRow key={`${problem.kind} ${problem.name} ${problem.title}`} problem={problem} />
                ))}
              </ScrollTable>
              {total > problems.length && (
                <Text size="sm">
                  {problems.length} of {total} problems are shown.
                </Text>
              )}
            </>
          )
        }
      </Loaded>
    </Page>
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
