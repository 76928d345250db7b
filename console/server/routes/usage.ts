/** Usage of deployments over time, and remaining credit. */
import { z } from 'zod';
import { formatAmount } from '../../../api/amount.ts';
import { readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import type { RedisClient } from '../../../redis/client.ts';
import {
  readCurrency,
  readDeploymentNames,
  readGrantedMicros,
} from '../../../redis/console/console-reads.ts';
import { readUsage } from '../../../redis/usage/usage.ts';
import { type CreditView, type TrafficView, USAGE_RANGES, type UsageRange } from '../../api.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;
/** In seconds; about a hundred points each. */
const RANGES: Record<UsageRange, { length: number; step: number }> = {
  '1h': { length: HOUR, step: 60 },
  '6h': { length: 6 * HOUR, step: 300 },
  '24h': { length: DAY, step: 900 },
  '7d': { length: 7 * DAY, step: HOUR },
  '30d': { length: 30 * DAY, step: 6 * HOUR },
};

/** Range of the overview of all deployments. */
const OVERVIEW = { length: HOUR, step: 180 };

const query = z.object({
  deployment: z.string().max(63).optional(),
  range: z.enum(USAGE_RANGES).default('24h'),
});

export function addUsageRoutes(serve: ServeRoute, { access, redis, largeAnswers }: Services): void {
  serve(routes.readUsage, async ({ ctx, session, namespace }) => {
    const { deployment, range } = check(ctx.query, query);
    await access.require(session, namespace, 'readUsage');
    const { length, step } = RANGES[range];
    return largeAnswers.answer(ctx.res, namespace, async () => {
      const deployments = deployment ? [deployment] : await readDeploymentNames(redis, namespace);
      const question = { namespace, deployments, ...until(Date.now(), { length, step }) };
      const [report, credit] = await Promise.all([readUsage(redis, question), readCredit(redis, namespace)]);
      const points = report.steps.map(({ at, ...sums }) => ({ ...sums, at: new Date(at).toISOString() }));
      return { stepSeconds: step, points, total: report.total, credit };
    });
  });

  serve(routes.listTraffic, async ({ ctx, session, namespace }) => {
    await access.require(session, namespace, 'readUsage');
    return largeAnswers.answer(ctx.res, namespace, async () => {
      const span = until(Date.now(), OVERVIEW);
      const views: TrafficView[] = [];
      // Sequentially: each read may be large, but its view is not.
      for (const deployment of await readDeploymentNames(redis, namespace)) {
        const { total, steps } = await readUsage(redis, { namespace, deployments: [deployment], ...span });
        views.push({ deployment, total, requests: steps.map(({ requests }) => requests) });
      }
      return views;
    });
  });
}

/** The last `length` seconds in steps, the last of which is not over yet. */
const until = (to: number, { length, step }: { length: number; step: number }) => ({
  from: to - (length - step) * 1_000,
  to,
  stepSeconds: step,
});

async function readCredit(redis: RedisClient, namespace: string): Promise<CreditView> {
  const [granted, spent, currency] = await Promise.all([
    readGrantedMicros(redis, namespace),
    readSpentMicros(redis, namespace),
    readCurrency(redis, namespace),
  ]);
  if (granted === null) return { granted: null, remaining: null, currency };
  return { granted: formatAmount(granted), remaining: formatAmount(granted - spent), currency };
}
