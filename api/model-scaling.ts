/** How many replicas a deployment has, and how they are replaced. */
import { z } from 'zod';
import { cel } from './kubernetes-types.ts';
import { duration } from './quantity.ts';

/** Letters only in three-letter names: the extensions `#`, `W`, `L` and `+` can take long to evaluate. */
const CRON_FIELD = '([0-9*?/,-]|[A-Za-z]{3}){1,40}';

const schedule = z
  .object({
    cron: z
      .string()
      .max(100)
      .regex(
        new RegExp(`^${CRON_FIELD}( +${CRON_FIELD}){4}$`),
        'must be five fields: minute, hour, day of month, month, day of week',
      )
      .describe('When it starts: minute, hour, day of month, month, day of week.'),
    timezone: z
      .string()
      .max(64)
      .default('UTC')
      .describe('From the IANA database, such as Europe/Zurich; daylight saving time is observed.'),
    min: z.int().min(0).max(1000).optional().describe('Replaces scaling.min.'),
    max: z.int().min(1).max(1000).optional().describe('Replaces scaling.max.'),
  })
  .meta(
    cel(
      { rule: 'has(self.min) || has(self.max)', message: 'a schedule must give min, max or both' },
      {
        rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
        message: 'min of a schedule must not exceed its max',
      },
    ),
  );

export const modelScaling = z
  .object({
    min: z.int().min(0).max(1000).default(1).describe('0 lets the deployment scale to zero.'),
    max: z.int().min(1).max(1000).default(1).describe('Most replicas.'),
    targetConcurrency: z
      .number()
      .gt(0)
      .lte(10_000)
      .optional()
      .describe(
        'Target number of concurrent requests per replica; the concurrency if absent, 16 if that is unlimited.',
      ),
    stableWindow: duration(
      'Averaging window; replicas are removed when its peak no longer needs them.',
    ).default('60s'),
    panicWindow: duration('Short window that reacts to bursts.').default('6s'),
    idleTimeout: duration(
      'Idle time before the last replica is removed; the measured load time if that is longer.',
    ).default('10m'),
    idle: z
      .enum(['Remove', 'Sleep'])
      .default('Remove')
      .describe(
        'What happens to the last replica after that, with min 0: it is removed, or, if the engine supports it, it sleeps: its pod stays, the GPU memory is freed, and the next request wakes it.',
      ),
    targetWait: duration(
      'How long a queued image or video may wait; the load time if that is longer.',
    ).default('1m'),
    schedules: z
      .array(schedule)
      .max(20)
      .default([])
      .describe(
        'Bounds by time of day: each applies from its times until another one starts. Replicas are started one load time ahead.',
      ),
    coldStart: z
      .object({
        mode: z
          .enum(['Reject', 'Hold'])
          .default('Reject')
          .describe('Return 503 while starting, or hold the request.'),
        holdFor: duration('Longest hold.').default('60s'),
      })
      .prefault({})
      .describe('Requests that come while no replica is ready.'),
  })
  .meta({
    description: 'Autoscaling. Not together with replicas.',
    ...cel({
      rule: 'self.min <= self.max',
      message: 'scaling.min must not exceed scaling.max',
      fieldPath: '.min',
    }),
  });

export type ModelScaling = z.infer<typeof modelScaling>;

export const modelRollout = z
  .object({
    maxSurge: z
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('Extra pods during a rollout. 0 needs no spare GPU.'),
    drainTimeout: duration(
      'Longest wait for work in flight when a pod is removed; text 3m, image 5m, video 35m if absent.',
    ).optional(),
    revision: z
      .string()
      .max(63)
      .optional()
      .describe("Any change rolls the pods, with the operator's current sidecar version."),
  })
  .prefault({})
  .describe('How pods are replaced.');
