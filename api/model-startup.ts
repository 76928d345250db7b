/** The last start of a replica, in `status.startup`. */
import { z } from 'zod';

/** In the order of a pod's life. */
export const STARTUP_STAGES = ['Scheduled', 'Prepared', 'WeightsLoaded', 'EngineStarted', 'Ready'] as const;
export type StartupStage = (typeof STARTUP_STAGES)[number];

const stage = z.enum(STARTUP_STAGES);

export const modelStartup = z
  .object({
    pod: z.string().describe('Name of the pod.'),
    createdAt: z.string().describe('When the pod was created.'),
    stages: z
      .array(
        z.object({
          stage: stage.describe('Name of the stage.'),
          at: z.string().describe('When it completed.'),
          took: z.string().describe('Since the previous stage.'),
        }),
      )
      .describe(
        "Those that are complete. Scheduled: a node was found. Prepared: volumes and the gateway's image. WeightsLoaded: init containers. EngineStarted: the engine's image. Ready: the engine has loaded the model; it may fetch weights of Hugging Face, too.",
      ),
    current: z
      .object({
        stage: stage.describe('Name of the stage.'),
        since: z.string().describe('When it began.'),
      })
      .optional()
      .describe('What it is waiting for; absent once it is ready.'),
    took: z.string().optional().describe('From the creation of the pod to its readiness.'),
    expected: z.string().optional().describe('Estimate from earlier starts; absent before the first.'),
  })
  .describe('How the last start of a replica went, or is going.');

export type ModelStartup = z.infer<typeof modelStartup>;
