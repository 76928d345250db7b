/** How long something took over time: the median and the 95th percentile. */
import { LineChart } from '@mantine/charts';
import type { UsagePoint } from '../../api.ts';
import { CHART } from '../theme/theme.ts';
import { ChartPanel, type Row } from './chart-panel.tsx';
import { formatMs } from './totals.ts';

/** More dots would hide the line. */
const MAX_DOTS = 30;

type Percentile = 'p50Ms' | 'p95Ms' | 'firstTokenP50Ms' | 'firstTokenP95Ms' | 'waitP50Ms' | 'waitP95Ms';

interface PercentileChartProps {
  title: string;
  summary: string;
  /** The median, then the 95th percentile. */
  names: [Percentile, Percentile];
  data: (Row & UsagePoint)[];
}

export function PercentileChart({ title, summary, names: [median, high], data }: PercentileChartProps) {
  const series = [
    { name: median, label: 'p50', color: CHART.main },
    { name: high, label: 'p95', color: CHART.second, strokeDasharray: '5 4' },
  ];
  const measured = data.filter((point) => point[high] !== null).length;
  return (
    <ChartPanel title={title} series={series} data={data} format={formatMs} summary={summary}>
      <LineChart
        h={220}
        dataKey="time"
        xAxisProps={{ minTickGap: 32 }}
        tickLine="none"
        lineChartProps={{ accessibilityLayer: false }}
        data={data}
        series={series}
        valueFormatter={formatMs}
        curveType="linear"
        // Few points are dots, of which only neighbors are joined: nothing is known of the time between others.
        connectNulls={measured > MAX_DOTS}
        // A single point is not visible as a line.
        withDots={measured <= MAX_DOTS}
      />
    </ChartPanel>
  );
}
