/** The charts of a deployment's load. */
import '../theme/later-styles.ts';
import '@mantine/charts/styles.layer.css';
import { SimpleGrid } from '@mantine/core';
import type { UsageView } from '../../api.ts';
import { useNamespace } from '../client/namespace.ts';
import { formatLength, formatStep } from '../parts/time-format.ts';
import { CHART } from '../theme/theme.ts';
import type { Row, Series } from '../usage/chart-panel.tsx';
import { LinePanel } from '../usage/line-panel.tsx';
import { formatCount } from '../usage/totals.ts';
import { describePeaks, listPeaks, locateRequests, type Peak } from './load-peaks.ts';

const STYLES: Record<Peak, Omit<Series, 'name' | 'label'>> = {
  inflightPeak: { color: CHART.main },
  runningPeak: { color: CHART.third, strokeDasharray: '5 4' },
  engineWaitingPeak: { color: CHART.second },
  slotWaitingPeak: { color: CHART.limit },
};
const CACHE: Series[] = [
  { name: 'cacheUse', label: 'Average', color: CHART.main },
  { name: 'cacheUsePeak', label: 'Fullest replica', color: CHART.second, strokeDasharray: '5 4' },
];
const formatPercent = (value: number): string => `${value}%`;

interface LoadChartsProps {
  name: string;
  usage: UsageView;
  range: string;
  /** Whether a time leads to its requests. */
  isLinked: boolean;
}

export function LoadCharts({ name, usage, range, isLinked }: LoadChartsProps) {
  const namespace = useNamespace();
  const { points, total, stepSeconds: seconds } = usage;
  const now = Date.now();
  const data = points.map((point) => ({
    ...point,
    runningPeak: point.runningPeak === 0 && point.inflightPeak > 0 ? null : point.runningPeak,
    time: formatStep(new Date(point.at), seconds),
  }));
  const linkTo = isLinked
    ? ({ at }: Row) => locateRequests(namespace, name, { at, seconds }, now)
    : undefined;
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <LinePanel
        title="Requests at once"
        summary={`Peaks by ${formatLength(seconds)}; in the last ${range}: ${describePeaks(total)}.`}
        series={listPeaks(total).map((peak) => ({ ...peak, ...STYLES[peak.name] }))}
        data={data}
        format={formatCount}
        linkTo={linkTo}
        yAxisProps={{ allowDecimals: false }}
      />
      {total.cacheUse !== null && (
        <LinePanel
          title="KV cache"
          summary={`In use in the last ${range}: ${total.cacheUse}% on average, at most ${total.cacheUsePeak}%.`}
          series={CACHE}
          data={data}
          format={formatPercent}
          linkTo={linkTo}
          yAxisProps={{ domain: [0, 100] }}
        />
      )}
    </SimpleGrid>
  );
}
