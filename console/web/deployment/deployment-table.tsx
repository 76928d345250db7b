/** Deployments, one a row: state, replicas, and how each served in the last hour. */
import { ActionIcon, Anchor, Box, CopyButton, Group, Table, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { DeploymentView, TrafficView } from '../../api.ts';
import { ListFilter, SortHeader, useArrangement } from '../parts/arranged-list.tsx';
import type { Column } from '../parts/arrangement.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { countErrors, countOf, formatCount, formatMs, formatShare } from '../usage/totals.ts';

interface DeploymentTableProps {
  deployments: readonly DeploymentView[];
  /** Traffic of the last hour; undefined while it is not known. */
  traffic: readonly TrafficView[] | undefined;
}

interface ListedDeployment extends DeploymentView {
  traffic: TrafficView | undefined;
}

/** Narrow screens show the first two columns, with the most important of the others below them. */
const WIDE = 'md';
const FIRST = 2;
const NUMBERS: ReadonlySet<string> = new Set(['errors', 'p95']);

const COLUMNS: readonly Column<ListedDeployment>[] = [
  { by: 'name', label: 'Deployment', value: ({ name }) => name },
  { by: 'state', label: 'State', value: ({ state }) => state },
  { by: 'replicas', label: 'Replicas', value: ({ replicas }) => replicas.ready, isLargestFirst: true },
  {
    by: 'requests',
    label: 'Requests, last hour',
    value: ({ traffic }) => traffic?.total.requests ?? null,
    isLargestFirst: true,
  },
  { by: 'errors', label: 'Errors', value: ({ traffic }) => findErrorShare(traffic), isLargestFirst: true },
  { by: 'p95', label: 'p95', value: ({ traffic }) => traffic?.total.p95Ms ?? null, isLargestFirst: true },
  {
    by: 'queue',
    label: 'Queue',
    value: ({ queue }) => queue && queue.waiting + queue.running,
    isLargestFirst: true,
  },
];

const findErrorShare = (traffic: TrafficView | undefined): number | null =>
  traffic && traffic.total.requests > 0 ? countErrors(traffic.total) / traffic.total.requests : null;

const textsOf = ({ name, kind, modelId, state }: DeploymentView) => [name, kind, modelId, state];

export function DeploymentTable({ deployments, traffic }: DeploymentTableProps) {
  const list = useArrangement(
    deployments.map(
      (deployment): ListedDeployment => ({
        ...deployment,
        traffic: traffic?.find((each) => each.deployment === deployment.name),
      }),
    ),
    { columns: COLUMNS, textsOf },
  );
  return (
    <>
      <ListFilter label="deployments" list={list} />
      <Table verticalSpacing="xs" highlightOnHover aria-label="Deployments">
        <Table.Thead>
          <Table.Tr>
            {COLUMNS.map((column, index) => (
              <SortHeader
                key={column.by}
                column={column}
                list={list}
                {...(index >= FIRST && { visibleFrom: WIDE })}
                {...(NUMBERS.has(column.by) && { className: 'number' })}
              />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {list.rows.map((deployment) => (
            <DeploymentRow key={deployment.name} deployment={deployment} />
          ))}
        </Table.Tbody>
      </Table>
    </>
  );
}

function DeploymentRow({ deployment }: { deployment: ListedDeployment }) {
  const { name, kind, modelId, baseURL, state, message, replicas, queue, traffic } = deployment;
  const total = traffic?.total;
  const errors = total && countErrors(total);
  return (
    <Table.Tr aria-label={name}>
      <Table.Th scope="row" fw={400} style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} to={name} fw={600} size="md" c="bright">
          {name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {kind} · <span style={{ fontFamily: 'var(--mantine-font-family-monospace)' }}>{modelId}</span>
        </Text>
        {baseURL && <BaseURL name={name} url={baseURL} />}
      </Table.Th>
      <Table.Td maw={{ base: 140, [WIDE]: 280 }}>
        <StateBadge state={state} />
        {message && message.toLowerCase() !== state && (
          <Text size="xs" c="dimmed" lineClamp={2} title={message} style={{ overflowWrap: 'anywhere' }}>
            {message}
          </Text>
        )}
        <Text size="xs" c="dimmed" hiddenFrom={WIDE}>
          {replicas.ready} of {replicas.wanted} ready
          {total && ` · ${countOf(total.requests, 'request')}/h`}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom={WIDE} style={{ whiteSpace: 'nowrap' }}>
        {replicas.ready} of {replicas.wanted} ready
      </Table.Td>
      <Table.Td visibleFrom={WIDE}>
        {traffic && (
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" miw={44} className="number">
              {formatCount(traffic.total.requests)}
            </Text>
            <Box w={96} flex="none" mr="sm">
              <Sparkline values={traffic.requests} />
            </Box>
          </Group>
        )}
      </Table.Td>
      <Table.Td visibleFrom={WIDE} className="number">
        {total && errors !== undefined && total.requests > 0 ? formatShare(errors, total.requests) : '–'}
      </Table.Td>
      <Table.Td visibleFrom={WIDE} className="number">
        {formatMs(total?.p95Ms ?? null)}
      </Table.Td>
      <Table.Td visibleFrom={WIDE} style={{ whiteSpace: 'nowrap' }}>
        {queue ? `${queue.waiting} waiting, ${queue.running} running` : '–'}
      </Table.Td>
    </Table.Tr>
  );
}

function BaseURL({ name, url }: { name: string; url: string }) {
  return (
    <Group gap={4} wrap="nowrap" visibleFrom="sm">
      <Text size="xs" c="dimmed" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
        {url}
      </Text>
      <CopyButton value={url}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy'}>
            <ActionIcon
              variant="subtle"
              size="xs"
              color="gray"
              onClick={copy}
              aria-label={`Copy base URL of ${name}`}
            >
              {copied ? <IconCheck size={12} aria-hidden /> : <IconCopy size={12} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  );
}
