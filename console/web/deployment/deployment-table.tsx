/** Deployments, one a row: state, replicas, and how each served in the last hour. */
import { ActionIcon, Anchor, Box, CopyButton, Group, Table, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { DeploymentView, TrafficView } from '../../api.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { countErrors, formatCount, formatMs, formatShare } from '../usage/totals.ts';

interface DeploymentTableProps {
  deployments: readonly DeploymentView[];
  /** Of the last hour; undefined while it is not known. */
  traffic: readonly TrafficView[] | undefined;
}

/** Narrow screens show the first two columns, with the most important of the others below them. */
const WIDE = 'md';

export function DeploymentTable({ deployments, traffic }: DeploymentTableProps) {
  return (
    <Table verticalSpacing="xs" highlightOnHover aria-label="Deployments">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Deployment</Table.Th>
          <Table.Th scope="col">State</Table.Th>
          <Table.Th scope="col" visibleFrom={WIDE}>
            Replicas
          </Table.Th>
          <Table.Th scope="col" visibleFrom={WIDE}>
            Requests, last hour
          </Table.Th>
          <Table.Th scope="col" visibleFrom={WIDE} className="number">
            Errors
          </Table.Th>
          <Table.Th scope="col" visibleFrom={WIDE} className="number">
            p95
          </Table.Th>
          <Table.Th scope="col" visibleFrom={WIDE}>
            Queue
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {deployments.map((deployment) => (
          <DeploymentRow
            key={deployment.name}
            deployment={deployment}
            traffic={traffic?.find((each) => each.deployment === deployment.name)}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface DeploymentRowProps {
  deployment: DeploymentView;
  traffic: TrafficView | undefined;
}

function DeploymentRow({ deployment, traffic }: DeploymentRowProps) {
  const { name, kind, modelId, baseURL, state, message, replicas, queue } = deployment;
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
          {total && ` · ${formatCount(total.requests)} requests/h`}
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
