/** Totals of the whole range. */
import { Paper, SimpleGrid, Text } from '@mantine/core';
import type { UsageView } from '../../api.ts';
import { countErrors, countOf, formatCount, formatMs } from './totals.ts';

interface UsageTotalsProps {
  usage: UsageView;
  /** Latencies of different deployments cannot be combined. */
  isOneDeployment: boolean;
}

export function UsageTotals({ usage: { total: totals, credit }, isOneDeployment }: UsageTotalsProps) {
  const errors = countErrors(totals);
  const share = totals.requests > 0 ? (100 * errors) / totals.requests : 0;
  const numbers = [
    { label: 'Requests', value: formatCount(totals.requests), more: '' },
    { label: 'Errors', value: formatCount(errors), more: `${share.toFixed(1)} % of requests` },
    {
      label: 'Tokens',
      value: formatCount(totals.inputTokens + totals.outputTokens),
      more: `${formatCount(totals.inputTokens)} input, ${formatCount(totals.outputTokens)} output`,
    },
    isOneDeployment
      ? { label: 'p95', value: formatMs(totals.p95Ms), more: `p50 ${formatMs(totals.p50Ms)}` }
      : { label: 'p95', value: '–', more: 'select a deployment' },
    {
      label: 'Images and videos',
      value: formatCount(totals.images + totals.videos),
      more: `${countOf(totals.images, 'image')}, ${countOf(totals.videos, 'video')} of ${formatCount(totals.videoSeconds)} s`,
    },
    {
      label: 'Remaining credit',
      value: credit.remaining ?? 'Unlimited',
      more: credit.granted === null ? 'no limit' : `of ${credit.granted}`,
    },
  ];
  return (
    <SimpleGrid component="dl" cols={{ base: 2, md: 3, xl: 6 }} spacing="sm" m={0}>
      {numbers.map(({ label, value, more }) => (
        <Paper key={label} withBorder p="sm" radius="md">
          <Text component="dt" size="sm" c="dimmed">
            {label}
          </Text>
          <Text component="dd" m={0} size="xl" fw={600} style={{ overflowWrap: 'anywhere' }}>
            {value}
          </Text>
          <Text component="dd" m={0} size="xs" c="dimmed">
            {more}
          </Text>
        </Paper>
      ))}
    </SimpleGrid>
  );
}
