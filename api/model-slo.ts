/** A deployment's service level objectives, measured by alerts and dashboards. */
import { z } from 'zod';
import { duration } from './quantity.ts';

const percent = (describe: string) => z.number().gt(0).lt(100).describe(describe);

export const modelSLO = z
  .object({
    availability: percent(
      'Percentage of requests that end without a server error; client errors and requests whose client disconnected do not count.',
    ).optional(),
    timeToFirstToken: z
      .object({
        within: duration('Time to the first token.'),
        percent: percent('Percentage of streams whose first token comes in this time.').default(95),
      })
      .optional()
      .describe('Objective for the first token of streams.'),
  })
  .describe(
    'Service level objectives: berth_slo_* metrics and the chart’s alerts follow them. They have no other effect.',
  );
export type ModelSLO = z.infer<typeof modelSLO>;

/** Names in metrics. */
export type Objective = 'availability' | 'time_to_first_token';

/** Shares of requests, by objective. */
export function listObjectives({ availability, timeToFirstToken }: ModelSLO): [Objective, number][] {
  const targets: [Objective, number][] = [];
  if (availability !== undefined) targets.push(['availability', toRatio(availability)]);
  if (timeToFirstToken) targets.push(['time_to_first_token', toRatio(timeToFirstToken.percent)]);
  return targets;
}

/** Without rounding errors of the division. */
const toRatio = (percent: number): number => Number((percent / 100).toPrecision(12));
