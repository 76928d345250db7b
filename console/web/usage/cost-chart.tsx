/** Cost over days, by key or by deployment. */
import '../theme/later-styles.ts';
import '@mantine/charts/styles.layer.css';
import { BarChart } from '@mantine/charts';
import { SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import type { KeyUsageView } from '../../api.ts';
import { CHART } from '../theme/theme.ts';
import { ChartPanel } from './chart-panel.tsx';
import { sumCosts } from './key-usage-rows.ts';
import { formatCost } from './totals.ts';

const COLORS = [CHART.main, CHART.second, CHART.caution, CHART.limit, CHART.third];
const GROUPINGS = [
  { value: 'key', label: 'By key' },
  { value: 'deployment', label: 'By deployment' },
];

interface CostChartProps {
  rows: readonly KeyUsageView[];
  /** Days in UTC, both included. */
  days: { from: string; to: string };
  /** Nothing is to be split by deployment. */
  isOneDeployment: boolean;
}

export function CostChart({ rows, days, isOneDeployment }: CostChartProps) {
  const [by, setBy] = useState<'key' | 'deployment'>('key');
  const costs = sumCosts(rows, isOneDeployment ? 'key' : by, days);
  if (!costs) return null;
  const series = costs.groups.map((label, index) => ({ name: `cost${index}`, label, color: COLORS[index]! }));
  const data = costs.days.map((day) => ({ ...day, time: day.at }));
  const total = rows.reduce((sum, { cost }) => sum + Number(cost), 0);
  return (
    <Stack gap="sm">
      {!isOneDeployment && (
        <SegmentedControl
          aria-label="Cost by"
          data={GROUPINGS}
          value={by}
          onChange={(chosen) => setBy(chosen as typeof by)}
          style={{ alignSelf: 'flex-start' }}
        />
      )}
      <ChartPanel
        title="Cost by day"
        summary={`${formatCost(total)} in all, in the currency of the prices.`}
        series={series}
        data={data}
        format={formatCost}
      >
        <BarChart
          h={220}
          dataKey="time"
          data={data}
          series={series}
          type="stacked"
          tickLine="none"
          xAxisProps={{ minTickGap: 32 }}
          valueFormatter={formatCost}
          barChartProps={{ accessibilityLayer: false }}
        />
      </ChartPanel>
    </Stack>
  );
}
