/** How long something took over time: the median and the 95th percentile. */
import type { UsagePoint } from '../../api.ts';
import { CHART } from '../theme/theme.ts';
import type { Row } from './chart-panel.tsx';
import { LinePanel } from './line-panel.tsx';
import { formatMs } from './totals.ts';

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
  return <LinePanel title={title} summary={summary} series={series} data={data} format={formatMs} />;
}
