/** What an image or a video model takes (docs/api.md, "Model", "POST /v1/videos"). */
import { z } from 'zod';
import { cel } from './kubernetes-types.ts';

const dimensions = z
  .string()
  .max(11)
  .regex(/^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$/, 'must be WIDTHxHEIGHT, such as 1024x1024');

const steps = z
  .object({ min: z.int().min(1).max(1000), max: z.int().min(1).max(1000), default: z.int().min(1).max(1000) })
  .meta({
    description: 'Inference steps; requests outside min and max are clamped.',
    ...cel({
      rule: 'self.min <= self.default && self.default <= self.max',
      message: 'steps must satisfy min <= default <= max',
    }),
  });

const parameters = z
  .array(z.enum(['negative_prompt', 'seed', 'num_inference_steps', 'guidance_scale', 'fps']))
  .max(5)
  .optional()
  .describe(
    'Request parameters that the model applies beyond prompt, n and size; others are accepted and ignored.',
  );

/** A model that listed it without a range would not take it, since the range is told with it. */
const rangedSteps = cel({
  rule: "!has(self.parameters) || !('num_inference_steps' in self.parameters) || has(self.steps)",
  message: 'the parameter num_inference_steps needs steps: {min, max, default}',
  fieldPath: '.steps',
});

export const imageModel = z
  .object({
    sizes: z.array(dimensions).min(1).max(100).default(['1024x1024']).describe('Supported sizes.'),
    tasks: z
      .array(z.enum(['txt2img', 'img2img']))
      .min(1)
      .max(2)
      .default(['txt2img']),
    parameters,
    steps: steps.optional(),
  })
  .meta({ description: 'What an image model takes.', ...rangedSteps });
export type ImageModel = z.infer<typeof imageModel>;

export const videoModel = z
  .object({
    resolutions: z.array(dimensions).min(1).max(100).default(['720x1280']).describe('Supported resolutions.'),
    tasks: z
      .array(z.enum(['t2v', 'i2v']))
      .min(1)
      .max(2)
      .default(['t2v']),
    native: z
      .object({ seconds: z.number().gt(0).lte(600), fps: z.int().min(1).max(240) })
      .optional()
      .describe('Pinned duration and frame rate; requests must match them. Without it both are free.'),
    parameters,
    steps: steps.optional(),
  })
  .meta({ description: 'What a video model takes.', ...rangedSteps });
export type VideoModel = z.infer<typeof videoModel>;
