/** The memory that the chart gives a program, and Node's options for it. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const CHART = 'charts/berth';

export interface ChartLimits {
  /** The container's limit. */
  memoryMiB: number;
  /** With the heap's size in that container: Node computes percentages from the container's limit, here from the machine's memory. */
  nodeOptions: string;
}

export function readChartLimits(program: 'operator' | 'front' | 'console'): ChartLimits {
  const values = parse(readFileSync(`${CHART}/values.yaml`, 'utf8'));
  const [, count, unit] = /^(\d+)(Mi|Gi)$/.exec(values[program].resources.limits.memory)!;
  const memoryMiB = Number(count) * (unit === 'Gi' ? 1024 : 1);
  const template = readFileSync(`${CHART}/templates/${program}/deployment.yaml`, 'utf8');
  const options = /NODE_OPTIONS, value: "([^"]+)"/.exec(template)![1]!;
  const nodeOptions = options.replace(
    /--max-old-space-size-percentage=(\d+)/,
    (_, percent) => `--max-old-space-size=${Math.floor((memoryMiB * percent) / 100)}`,
  );
  return { memoryMiB, nodeOptions };
}
