/** Lines over time. A click on a time leads to its requests, where that is asked for. */
import { LineChart, type LineChartProps } from '@mantine/charts';
import { useNavigate } from 'react-router';
import { ChartPanel, type Row, type Series } from './chart-panel.tsx';

/** More dots would hide the line. */
const MAX_DOTS = 30;

interface LinePanelProps {
  title: string;
  summary: string;
  series: Series[];
  data: Row[];
  format: (value: number) => string;
  linkTo?: ((row: Row) => string | undefined) | undefined;
  yAxisProps?: LineChartProps['yAxisProps'];
}

export function LinePanel({ title, summary, series, data, format, linkTo, yAxisProps }: LinePanelProps) {
  const navigate = useNavigate();
  const measured = data.filter((row) => series.every(({ name }) => row[name] !== null)).length;
  const follow = (index: number | string | null | undefined) => {
    const row = index === null || index === undefined ? undefined : data[Number(index)];
    const to = row && series.some(({ name }) => row[name]) ? linkTo?.(row) : undefined;
    // Where there is no pointer, a tap shows the figures, and the table leads on.
    if (to && matchMedia('(hover: hover)').matches) void navigate(to);
  };
  return (
    <ChartPanel title={title} series={series} data={data} format={format} summary={summary} linkTo={linkTo}>
      <LineChart
        h={220}
        dataKey="time"
        xAxisProps={{ minTickGap: 32 }}
        yAxisProps={yAxisProps}
        tickLine="none"
        lineChartProps={{
          accessibilityLayer: false,
          onClick: linkTo && (({ activeTooltipIndex }) => follow(activeTooltipIndex)),
          style: linkTo && { cursor: 'pointer' },
        }}
        data={data}
        series={series}
        valueFormatter={format}
        curveType="linear"
        // Few points are dots, of which only neighbors are joined: nothing is known of the time between others.
        connectNulls={measured > MAX_DOTS}
        // A single point is not visible as a line.
        withDots={measured <= MAX_DOTS}
      />
    </ChartPanel>
  );
}
