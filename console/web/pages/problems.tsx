/** What needs attention in the namespace, with links to where it is dealt with. */
import { Anchor, Group, Table, Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { ProblemsView, ProblemView } from '../../api.ts';
import { useNamespace } from '../client/namespace.ts';
import { useAccess, useSession } from '../client/session.ts';
import { ArrangedTable, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Loaded, Page } from '../parts/page.tsx';
import { EmptyState } from '../parts/page-states.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { Timestamp } from '../parts/timestamp.tsx';
import { useProblems } from '../problems/problem-count.tsx';
import { describeSubject, findLogPath, findProblemPath, findRunbook } from '../problems/problem-link.ts';

const COLUMNS: readonly Column<ProblemView>[] = [
  { by: 'problem', label: 'Problem', value: ({ title }) => title },
  { by: 'about', label: 'About', value: describeSubject },
  { by: 'since', label: 'Since', value: ({ since }) => since },
  { by: 'error', label: 'Last error', value: ({ message }) => message },
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
      <ArrangedTable label="Problems" minWidth={860} list={list} rest={['Next steps']}>
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
  const session = useSession();
  const [isOpen, setOpen] = useState(false);
  const { severity, title, message, since } = problem;
  const { readLogs = false } = useAccess();
  const log = readLogs ? findLogPath(problem) : undefined;
  const runbook = findRunbook(problem, session.data?.documentationURL ?? null);
  return (
    <Table.Tr>
      <Table.Td>
        <StateBadge state={title} tone={severity === 'error' ? 'bad' : 'caution'} />
      </Table.Td>
      <Table.Td>
        <Anchor component={Link} to={`/${namespace}/${findProblemPath(problem)}`} {...LINK}>
          {describeSubject(problem)}
        </Anchor>
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Timestamp at={since} />
      </Table.Td>
      <Table.Td>
        <UnstyledButton
          onClick={() => setOpen(!isOpen)}
          aria-expanded={isOpen}
          maw={480}
          style={isOpen ? WHOLE : ONE_LINE}
        >
          {message}
        </UnstyledButton>
      </Table.Td>
      <Table.Td>
        <Group gap="sm" wrap="nowrap">
          {log && (
            <Anchor
              component={Link}
              to={`/${namespace}/${log}`}
              aria-label={`Open logs of ${problem.name}`}
              {...LINK}
            >
              Open logs
            </Anchor>
          )}
          {runbook && (
            <Anchor
              href={runbook}
              target="_blank"
              rel="noreferrer"
              aria-label={`Runbook: ${title}`}
              {...LINK}
            >
              Runbook
            </Anchor>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

const LINK = { size: 'sm', underline: 'always', style: { whiteSpace: 'nowrap' } } as const;
const ONE_LINE = {
  display: 'block',
  overflow: 'hidden',
  textOverflow: 'ellipsis',
  whiteSpace: 'nowrap',
} as const;
const WHOLE = { display: 'block', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' } as const;
