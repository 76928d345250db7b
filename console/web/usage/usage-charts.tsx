/** Charts over time, each with a summary and a table. */
import '../theme/later-styles.ts';
import '@mantine/charts/styles.layer.css';
import { AreaChart, BarChart } from '@mantine/charts';
import { SimpleGrid } from '@mantine/core';
import type { UsagePoint, UsageView } from '../../api.ts';
import { formatLength, formatStep } from '../parts/time-format.ts';
import { CHART } from '../theme/theme.ts';
import { ChartPanel, type Series } from './chart-panel.tsx';
import { PercentileChart } from './percentile-chart.tsx';
import { countErrors, countOf, formatCount, formatMs } from './totals.ts';

const REQUESTS: Series[] = [
  { name: 'succeeded', label: 'Succeeded', color: CHART.good },
  { name: 'clientErrors', label: 'Client errors (4xx)', color: CHART.caution },
  { name: 'rateLimited', label: 'Rate limited (429)', color: CHART.limit },
  { name: 'serverErrors', label: 'Server errors (5xx)', color: CHART.bad },
];
const TOKENS: Series[] = [
  { name: 'inputTokens', label: 'Input', color: CHART.main },
  { name: 'outputTokens', label: 'Output', color: CHART.second },
];
const SPEED: Series[] = [{ name: 'tokensPerSecond', label: 'Output tokens per second', color: CHART.main }];
const QUEUE: Series[] = [{ name: 'queuePeak', label: 'Peak queue length', color: CHART.main }];
const MEDIA: Series[] = [
  { name: 'images', label: 'Images', color: CHART.main },
  { name: 'videos', label: 'Videos', color: CHART.second },
];

const AUDIO: Series[] = [{ name: 'audioSeconds', label: 'Seconds', color: CHART.main }];
const SPEECH: Series[] = [{ name: 'characters', label: 'Characters', color: CHART.main }];

/** The table has the same data for keyboard and screen readers. */
const NOT_FOCUSABLE = { accessibilityLayer: false };

interface UsageChartsProps {
  usage: UsageView;
  range: string;
  /** Latencies of different deployments cannot be combined. */
  isOneDeployment: boolean;
}

export function UsageCharts({ usage, range, isOneDeployment }: UsageChartsProps) {
  const totals = usage.total;
  const data = usage.points.map((point) => describe(point, usage.stepSeconds));
  const common = {
    h: 220,
    dataKey: 'time',
    xAxisProps: { minTickGap: 32 },
    tickLine: 'none',
  } as const;
  const span = `In the last ${range}`;
  const counts = {
    ...common,
    data,
    valueFormatter: formatCount,
    yAxisProps: { allowDecimals: false },
  } as const;
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <ChartPanel
        title="Requests"
        series={REQUESTS}
        data={data}
        summary={`${span}: ${countOf(totals.requests, 'request')}, ${formatCount(countErrors(totals))} of them errors.`}
      >
        <BarChart {...counts} barChartProps={NOT_FOCUSABLE} type="stacked" series={REQUESTS} />
      </ChartPanel>
      {isOneDeployment && (
        <PercentileChart
          title="Latency"
          names={['p50Ms', 'p95Ms']}
          data={data}
          summary={`p95, last ${range}: ${formatMs(totals.p95Ms)}.`}
        />
      )}
      {isOneDeployment && totals.firstTokenP95Ms !== null && (
        <PercentileChart
          title="Time to first token"
          names={['firstTokenP50Ms', 'firstTokenP95Ms']}
          data={data}
          summary={`p95 of streams, last ${range}: ${formatMs(totals.firstTokenP95Ms)}.`}
        />
      )}
      {isOneDeployment && totals.waitP95Ms !== null && totals.waitP95Ms > 0 && (
        <PercentileChart
          title="Wait before the engine"
          names={['waitP50Ms', 'waitP95Ms']}
          data={data}
          summary={`p95 at a replica, last ${range}: ${formatMs(totals.waitP95Ms)}. The engine's own queue is not in it.`}
        />
      )}
      <ChartPanel
        title="Tokens"
        series={TOKENS}
        data={data}
        summary={`${span}: ${formatCount(totals.inputTokens)} input tokens, ${formatCount(totals.outputTokens)} output tokens.`}
      >
        <BarChart {...counts} barChartProps={NOT_FOCUSABLE} type="stacked" series={TOKENS} />
      </ChartPanel>
      {totals.outputTokens > 0 && (
        <ChartPanel
          title="Output speed"
          series={SPEED}
          data={data}
          summary={`Peak, last ${range}: ${formatCount(Math.max(...data.map(({ tokensPerSecond }) => tokensPerSecond)))} tokens/s, averaged over ${formatLength(usage.stepSeconds)}.`}
        >
          <AreaChart
            {...counts}
            yAxisProps={{}}
            areaChartProps={NOT_FOCUSABLE}
            series={SPEED}
            curveType="linear"
            withDots={false}
          />
        </ChartPanel>
      )}
      <ChartPanel
        title="Background queue"
        series={QUEUE}
        data={data}
        summary={
          totals.queuePeak === 0
            ? `${span}: no requests waited.`
            : `${span}: up to ${countOf(totals.queuePeak, 'request')} waited at the same time${isOneDeployment ? '' : ' for one deployment'}.`
        }
      >
        <AreaChart
          {...counts}
          areaChartProps={NOT_FOCUSABLE}
          series={QUEUE}
          curveType="step"
          withDots={false}
        />
      </ChartPanel>
      {totals.images + totals.videos > 0 && (
        <ChartPanel
          title="Images and videos"
          series={MEDIA}
          data={data}
          summary={`${span}: ${countOf(totals.images, 'image')}, ${countOf(totals.videos, 'video')}.`}
        >
          <BarChart {...counts} barChartProps={NOT_FOCUSABLE} type="stacked" series={MEDIA} />
        </ChartPanel>
      )}
      {totals.audioSeconds > 0 && (
        <ChartPanel
          title="Transcribed audio"
          series={AUDIO}
          data={data}
          summary={`${span}: ${countOf(totals.audioSeconds, 'second')}.`}
        >
          <BarChart {...counts} barChartProps={NOT_FOCUSABLE} series={AUDIO} />
        </ChartPanel>
      )}
      {totals.characters > 0 && (
        <ChartPanel
          title="Speech"
          series={SPEECH}
          data={data}
          summary={`${span}: ${countOf(totals.characters, 'character')}.`}
        >
          <BarChart {...counts} barChartProps={NOT_FOCUSABLE} series={SPEECH} />
        </ChartPanel>
      )}
    </SimpleGrid>
  );
}

const describe = (point: UsagePoint, stepSeconds: number) => ({
  ...point,
  succeeded: Math.max(0, point.requests - countErrors(point)),
  tokensPerSecond: point.outputTokens / stepSeconds,
  time: formatStep(new Date(point.at), stepSeconds),
});
