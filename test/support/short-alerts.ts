/** The chart's alerts with short windows: the same expressions over seconds instead of minutes and days. */
import { readFileSync } from 'node:fs';
import { ALERTS } from './dashboard-queries.ts';

/** By the chart's window. Each is long enough for ten scrapes a second apart, in the same order. */
const WINDOWS: Record<string, string> = {
  '5m': '10s',
  '30m': '12s',
  '1h': '15s',
  '6h': '20s',
  '3d': '25s',
  '15m': '25s',
};
const QUEUE_AGE = '> 1800';

/** As YAML. */
export function shortenAlerts(): string {
  const text = readFileSync(ALERTS, 'utf8');
  if (!text.includes(QUEUE_AGE)) throw new Error(`no alert has ${QUEUE_AGE}`);
  return text
    .replaceAll(/\[(\w+)\]/g, (_, window: string) => {
      if (!WINDOWS[window]) throw new Error(`no short window stands for ${window}`);
      return `[${WINDOWS[window]}]`;
    })
    .replaceAll(/\bfor: \w+$/gm, 'for: 3s')
    .replaceAll(QUEUE_AGE, '> 5');
}
