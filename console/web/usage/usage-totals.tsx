/** Totals of the whole range. */
import type { UsageView } from '../../api.ts';
import { Figures } from '../parts/figures.tsx';
import { countErrors, countOf, formatCount, formatMs, formatShare } from './totals.ts';

interface UsageTotalsProps {
  usage: UsageView;
  /** Latencies of different deployments cannot be combined. */
  isOneDeployment: boolean;
}

export function UsageTotals({ usage: { total: totals, credit }, isOneDeployment }: UsageTotalsProps) {
  const errors = countErrors(totals);
  const figures = [
    { label: 'Requests', value: formatCount(totals.requests), more: '' },
    {
      label: 'Errors',
      value: formatCount(errors),
      more: `${formatShare(errors, totals.requests)} of requests`,
    },
    {
      label: 'Tokens',
      value: formatCount(totals.inputTokens + totals.outputTokens),
      more: `${formatCount(totals.inputTokens)} input, ${formatCount(totals.outputTokens)} output`,
    },
    isOneDeployment
      ? {
          label: 'p95',
          value: formatMs(totals.p95Ms),
          more: `p50 ${formatMs(totals.p50Ms)}, p99 ${formatMs(totals.p99Ms)}`,
        }
      : { label: 'p95', value: '–', more: 'select a deployment' },
    {
      label: 'Images and videos',
      value: formatCount(totals.images + totals.videos),
      more: `${countOf(totals.images, 'image')}, ${countOf(totals.videos, 'video')} of ${formatCount(totals.videoSeconds)} s`,
    },
    {
      label: 'Remaining credit',
      value: credit.remaining ?? 'Unlimited',
      more: credit.granted === null ? 'no limit' : `of ${credit.granted} ${credit.currency ?? ''}`.trimEnd(),
    },
  ];
  return <Figures figures={figures} />;
}
