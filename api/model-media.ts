/** Parameters of an image or a video model (docs/api.md, "Model", "POST /v1/videos"). */
import { z } from 'zod';
import { cel } from './kubernetes-types.ts';
import { MEDIA_PARAMETERS } from './media-engines.ts';

const dimensions = z
  .string()
  .max(11)
  .regex(/^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$/, 'must be WIDTHxHEIGHT, such as 1024x1024');

const steps = z
  .object({
    min: z.int().min(1).max(1000).describe('Fewest steps.'),
    max: z.int().min(1).max(1000).describe('Most steps.'),
    default: z.int().min(1).max(1000).describe('Steps of a request that names none.'),
  })
  .meta({
    description: 'Inference steps; requests outside min and max are clamped.',
    ...cel({
      rule: 'self.min <= self.default && self.default <= self.max',
      message: 'steps must satisfy min <= default <= max',
    }),
  });

const parameters = z
  .array(z.enum(MEDIA_PARAMETERS))
  .max(MEDIA_PARAMETERS.length)
  .optional()
  .describe(
    'Request parameters that the model applies beyond prompt, n and size; others are accepted and ignored. If absent: all ' +
      'that the engine reads; with simulator and custom those that all engines read.',
  );

/** Some engine parameters are paths or URLs: only listed ones are passed on. */
const extraParams = z
  .array(
    z
      .string()
      .max(64)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a parameter, such as cfg_truncation'),
  )
  .min(1)
  .max(32)
  .optional()
  .describe(
    "Members of the request's extra_params that are passed to the model, for engines that accept any (vllm-omni, custom). None if absent.",
  );

/** A model that lists it without a range does not support it, since the range is documented with it. */
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
      .default(['txt2img'])
      .describe('txt2img: from a prompt. img2img: edits of an image.'),
    mask: z
      .boolean()
      .optional()
      .describe(
        'Whether the model inpaints: edits may have a mask. If false, edits with one are rejected. If absent: whether the engine passes masks to models, as all but sglang-diffusion do; it ignores them.',
      ),
    parameters,
    extraParams,
    steps: steps.optional(),
  })
  .meta({ description: 'What an image model accepts.', ...rangedSteps });
export type ImageModel = z.infer<typeof imageModel>;

export const videoModel = z
  .object({
    resolutions: z.array(dimensions).min(1).max(100).default(['720x1280']).describe('Supported resolutions.'),
    tasks: z
      .array(z.enum(['t2v', 'i2v']))
      .min(1)
      .max(2)
      .default(['t2v'])
      .describe('t2v: from a prompt. i2v: from an image.'),
    native: z
      .object({
        seconds: z.number().gt(0).lte(600).describe('Duration.'),
        fps: z.int().min(1).max(240).describe('Frames per second.'),
      })
      .optional()
      .describe('Pinned duration and frame rate; requests must match them. Any if absent.'),
    references: z
      .int()
      .min(1)
      .max(9)
      .optional()
      .describe('Most images of input_reference, for models that accept several; 1 if absent.'),
    parameters,
    extraParams,
    steps: steps.optional(),
  })
  .meta({ description: 'What a video model accepts.', ...rangedSteps });
export type VideoModel = z.infer<typeof videoModel>;
