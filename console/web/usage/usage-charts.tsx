/** Charts over time, each with a summary and a table. */
import '../look/later-styles.ts';
import '@mantine/charts/styles.layer.css';
import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import { SimpleGrid } from '@mantine/core';
import type { UsagePoint, UsageView } from '../../api.ts';
import { CHART } from '../look/theme.ts';
import { formatStep } from '../parts/time-format.ts';
import { ChartPanel, type Series } from './chart-panel.tsx';
import { countErrors, countOf, formatCount, formatMs } from './totals.ts';

const REQUESTS: Series[] = [
  { name: 'succeeded', label: 'Succeeded', color: CHART.good },
  { name: 'clientErrors', label: 'Client errors', color: CHART.caution },
  { name: 'rateLimited', label: 'Rate limited', color: CHART.limit },
  { name: 'serverErrors', label: 'Server errors', color: CHART.bad },
];
const TOKENS: Series[] = [
  { name: 'inputTokens', label: 'Input', color: CHART.main },
  { name: 'outputTokens', label: 'Output', color: CHART.second },
];
const LATENCY: Series[] = [
  { name: 'p50Ms', label: 'p50', color: CHART.main },
  { name: 'p95Ms', label: 'p95', color: CHART.second, strokeDasharray: '5 4' },
];
const QUEUE: Series[] = [{ name: 'queuePeak', label: 'Peak queue length', color: CHART.main }];
const MEDIA: Series[] = [
  { name: 'images', label: 'Images', color: CHART.main },
  { name: 'videos', label: 'Videos', color: CHART.second },
];

const AUDIO: Series[] = [{ name: 'audioSeconds', label: 'Seconds', color: CHART.main }];
const SPEECH: Series[] = [{ name: 'characters', label: 'Characters', color: CHART.main }];

/** The table has the same data for keyboard and screen readers. */
const NOT_FOCUSABLE = { accessibilityLayer: false };

/** More dots would hide the line. */
const MAX_DOTS = 30;

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
  const timed = data.filter(({ p95Ms }) => p95Ms !== null).length;
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
        <ChartPanel
          title="Latency"
          series={LATENCY}
          data={data}
          format={formatMs}
          summary={`p95, last ${range}: ${formatMs(totals.p95Ms)}.`}
        >
          <LineChart
            {...common}
            lineChartProps={NOT_FOCUSABLE}
            data={data}
            series={LATENCY}
            valueFormatter={formatMs}
            curveType="linear"
            // Few points are dots, of which only neighbors are joined: nothing is known of the time between others.
            connectNulls={timed > MAX_DOTS}
            // A single point is not visible as a line.
            withDots={timed <= MAX_DOTS}
          />
        </ChartPanel>
      )}
      <ChartPanel
        title="Tokens"
        series={TOKENS}
        data={data}
        summary={`${span}: ${formatCount(totals.inputTokens)} input tokens, ${formatCount(totals.outputTokens)} output tokens.`}
      >
        <BarChart {...counts} barChartProps={NOT_FOCUSABLE} type="stacked" series={TOKENS} />
      </ChartPanel>
      <ChartPanel
        title="Queue"
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
  time: formatStep(new Date(point.at), stepSeconds),
});
