/** Other versions of a model that answer at a deployment's URL (docs/traffic.md). */
import { z } from 'zod';
import { cel } from './kubernetes-types.ts';

const MAX_MEMBERS = 5;
const SUM_MESSAGE = 'the weights must add up to at most 100';
/** One by one: the API server of Kubernetes 1.29 estimates no bound for the cost of a sum. */
const WEIGHTS = Array.from({ length: MAX_MEMBERS }, (_, i) => `(size(self) > ${i} ? self[${i}].weight : 0)`);
const UNIQUE_MESSAGE = 'each deployment may be named once';

const trafficMember = z.object({
  deployment: z
    .string()
    .min(1)
    .max(45)
    .describe(
      'ModelDeployment of this namespace with the same kind, model.id and engine preset. It keeps its own URL.',
    ),
  weight: z
    .int()
    .min(0)
    .max(100)
    .describe('Percentage of conversations that it answers; the rest stays with this deployment.'),
});

export const modelTraffic = z
  .array(trafficMember)
  .min(1)
  .max(MAX_MEMBERS)
  .refine((members) => sumWeights(members) <= 100, SUM_MESSAGE)
  .refine(
    (members) => new Set(members.map(({ deployment }) => deployment)).size === members.length,
    UNIQUE_MESSAGE,
  )
  .meta({
    description:
      "Other versions that answer a share of this deployment's requests, with its keys, limits and prices. Changes apply without restarts. Alpha: may change.",
    ...cel(
      { rule: `${WEIGHTS.join(' + ')} <= 100`, message: SUM_MESSAGE },
      {
        rule: 'self.all(member, self.exists_one(other, other.deployment == member.deployment))',
        message: UNIQUE_MESSAGE,
      },
    ),
  });
export type ModelTraffic = z.infer<typeof modelTraffic>;

const sumWeights = (members: readonly { weight: number }[]): number =>
  members.reduce((sum, { weight }) => sum + weight, 0);
