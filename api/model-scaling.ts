/** How many replicas a deployment has, and how they are replaced. */
import { z } from 'zod';
import { cel } from './kubernetes-types.ts';
import { duration } from './quantity.ts';

export const modelScaling = z
  .object({
    min: z.int().min(0).max(1000).default(1).describe('0 lets the deployment scale to zero.'),
    max: z.int().min(1).max(1000).default(1),
    targetConcurrency: z
      .number()
      .gt(0)
      .lte(10_000)
      .optional()
      .describe('Requests in flight and queued per replica; the concurrency if absent.'),
    stableWindow: duration('Averaging window.').default('60s'),
    panicWindow: duration('Short window that reacts to bursts.').default('6s'),
    idleTimeout: duration('Quiet time before the last replica goes.').default('10m'),
    coldStart: z
      .object({
        mode: z
          .enum(['Reject', 'Hold'])
          .default('Reject')
          .describe('Answer 503 while starting, or hold the request.'),
        holdFor: duration('Longest hold.').default('60s'),
      })
      .prefault({}),
  })
  .meta({
    description: 'Autoscaling. Not together with replicas.',
    ...cel({
      rule: 'self.min <= self.max',
      message: 'scaling.min must not exceed scaling.max',
      fieldPath: '.min',
    }),
  });

export const modelRollout = z
  .object({
    maxSurge: z
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('Extra pods during a rollout. 0 needs no spare GPU.'),
    drainTimeout: duration(
      'Longest wait for work in flight when a pod goes; text 3m, image 5m, video 35m if absent.',
    ).optional(),
    revision: z
      .string()
      .max(63)
      .optional()
      .describe("Any change rolls the pods, with the operator's present sidecar version."),
  })
  .prefault({});
