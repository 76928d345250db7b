/** The chart of demand and replicas, and the table of changes. */
import '../theme/later-styles.ts';
import '@mantine/charts/styles.layer.css';
import { CompositeChart, type CompositeChartSeries } from '@mantine/charts';
import { Box, Stack, Table, Text, Title } from '@mantine/core';
import { useId } from '@mantine/hooks';
import type { ScalingHistoryView } from '../../api.ts';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { formatDateTime, formatStep } from '../parts/time-format.ts';
import { CHART } from '../theme/theme.ts';
import { ChartPanel } from '../usage/chart-panel.tsx';
import { countOf, formatCount } from '../usage/totals.ts';

const SERIES = [
  {
    name: 'demand',
    label: 'Demand in requests (right)',
    color: CHART.second,
    type: 'area',
    yAxisId: 'right',
  },
  { name: 'wanted', label: 'Replicas wanted', color: CHART.third, type: 'line', strokeDasharray: '5 4' },
  { name: 'ready', label: 'Replicas ready', color: CHART.main, type: 'line' },
] satisfies CompositeChartSeries[];

/** More dots would hide the lines. */
const MAX_DOTS = 30;
const TICKS = 7;
/** Labels have the date where a range has two days. */
const STEP_SECONDS = { short: 60, long: 3_600 };

interface ScalingChartProps {
  history: ScalingHistoryView;
  range: string;
}

export function ScalingChart({ history, range }: ScalingChartProps) {
  const { from, to, points, changes } = history;
  const formatTime = (at: number) =>
    formatStep(new Date(at), range === '24h' ? STEP_SECONDS.long : STEP_SECONDS.short);
  const data = points.map((point) => {
    const ms = Date.parse(point.at);
    return { ...point, ms, time: formatTime(ms) };
  });
  const mostReady = Math.max(...points.map(({ ready }) => ready));
  const mostDemand = Math.max(...points.map(({ demand }) => demand));
  return (
    <Stack>
      <ChartPanel
        title="Demand and replicas"
        summary={`In the last ${range}: peak demand ${countOf(mostDemand, 'request')}, up to ${countOf(mostReady, 'replica')} ready, ${countOf(changes.length, 'change')}.`}
        series={SERIES}
        data={data}
      >
        <CompositeChart
          h={260}
          data={data}
          dataKey="ms"
          series={SERIES}
          // Each point holds until the next one.
          curveType="stepAfter"
          withDots={data.length <= MAX_DOTS}
          withRightYAxis
          tickLine="none"
          valueFormatter={formatCount}
          yAxisProps={{ allowDecimals: false, domain: [0, 'auto'], width: 40 }}
          rightYAxisProps={{ domain: [0, 'auto'], width: 40 }}
          xAxisProps={{
            type: 'number',
            scale: 'time',
            domain: [Date.parse(from), Date.parse(to)],
            tickFormatter: formatTime,
            ticks: spreadTicks(Date.parse(from), Date.parse(to)),
            minTickGap: 32,
          }}
          // Also asked before there is a point to show.
          tooltipProps={{
            labelFormatter: (at) => (typeof at === 'number' ? formatDateTime(new Date(at)) : ''),
          }}
          composedChartProps={{ accessibilityLayer: false }}
        />
      </ChartPanel>
      <Changes changes={changes} range={range} />
    </Stack>
  );
}

/** Over the whole range, however few points it has. */
const spreadTicks = (from: number, to: number): number[] =>
  Array.from({ length: TICKS }, (_, index) => from + ((to - from) * index) / (TICKS - 1));

function Changes({ changes, range }: { changes: ScalingHistoryView['changes']; range: string }) {
  const id = useId();
  return (
    <Stack component="section" gap="xs" aria-labelledby={id} miw={0}>
      <Title order={2} size="h4" id={id}>
        Replica changes
      </Title>
      {changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          No changes in the last {range}.
        </Text>
      ) : (
        <Box mah={320} style={{ overflowY: 'auto' }}>
          <ScrollTable label="Replica changes" minWidth={320} columns={['Time', 'Replicas', 'Reason']}>
            {changes.map(({ at, from, to, reason }) => (
              <Table.Tr key={`${at} ${to}`}>
                <Table.Td>{formatDateTime(new Date(at))}</Table.Td>
                <Table.Td style={{ whiteSpace: 'nowrap' }}>
                  {from} to {to}
                </Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{reason}</Table.Td>
              </Table.Tr>
            ))}
          </ScrollTable>
        </Box>
      )}
    </Stack>
  );
}
