/** How a deployment served, in figures. Pure. */
import type { DeploymentView, LoadView, UsagePoint, UsageView } from '../../api.ts';
import type { Figure } from '../parts/figure.ts';
import { countErrors, countOf, formatCount, formatMs, formatShare } from '../usage/totals.ts';

export type Served = Pick<DeploymentView, 'name' | 'kind' | 'queue'>;

/** Requests at the deployment now, and where they wait. */
export function describeLoad({ inflight, slots, queued, waiting, cacheUse }: LoadView): Figure {
  const places = [
    slots === null ? 'no limit' : `of ${countOf(slots, 'slot')}`,
    `${formatCount(queued)} waiting in the gateway`,
    ...(waiting === null ? [] : [`at least ${formatCount(waiting)} in the engine`]),
    ...(cacheUse === null ? [] : [`KV cache ${cacheUse}%`]),
  ];
  return { label: 'In flight now', value: formatCount(inflight), more: places.join('; ') };
}

/** Those that the kind has. */
export function describeTraffic(
  { total, points, stepSeconds }: Omit<UsageView, 'credit'>,
  { kind, queue }: Omit<Served, 'name'>,
): Figure[] {
  const trace = (read: (point: UsagePoint) => number | null) => points.map(read);
  const errors = countErrors(total);
  const perSecond = ({ outputTokens }: UsagePoint) => outputTokens / stepSeconds;
  const figures: Figure[] = [
    { label: 'Requests', value: formatCount(total.requests), course: trace(({ requests }) => requests) },
    {
      label: 'Errors',
      value: formatCount(errors),
      more: total.requests > 0 ? formatShare(errors, total.requests) : '–',
      course: trace(countErrors),
    },
    {
      label: 'Latency, p95',
      value: formatMs(total.p95Ms),
      more: `p50 ${formatMs(total.p50Ms)}, p99 ${formatMs(total.p99Ms)}`,
      course: trace(({ p95Ms }) => p95Ms),
    },
  ];
  if (kind === 'LLM')
    figures.push(
      {
        label: 'First token, p95',
        value: formatMs(total.firstTokenP95Ms),
        more: total.firstTokenP95Ms === null ? 'no streams' : `p50 ${formatMs(total.firstTokenP50Ms)}`,
        course: trace(({ firstTokenP95Ms }) => firstTokenP95Ms),
      },
      {
        label: 'Output tokens/s',
        value: formatCount(Math.max(0, ...points.map(perSecond))),
        more: `peak minute; ${formatCount(total.outputTokens)} total`,
        course: trace(perSecond),
      },
    );
  if (queue)
    figures.push({
      label: 'Queue',
      value: `${formatCount(queue.waiting)} waiting`,
      more: `${formatCount(queue.running)} running; peak ${formatCount(total.queuePeak)} waiting`,
      course: trace(({ queuePeak }) => queuePeak),
    });
  return figures;
}
