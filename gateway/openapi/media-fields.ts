/** Fields common to image and video routes, with this model's limits. */
import { type Bounds, findMediaEngine } from '../../api/media-engines.ts';
import type { Extra } from '../../api/media-parameters.ts';
import type { ImageModel, VideoModel } from '../../api/model-media.ts';
import { MAX_KEY_LENGTH } from '../media/request-fields.ts';
import type { JsonSchema } from '../text/fields.ts';
import {
  BODY_ERRORS,
  type Facts,
  type OperationError,
  type Parameter,
  UNPROCESSABLE_ERRORS,
} from './operation.ts';

const SAFE_INTEGER = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
} as const;

export const MEDIA_ERRORS = [
  ...BODY_ERRORS,
  ...UNPROCESSABLE_ERRORS,
  ['insufficient_quota', 402],
  'model_not_found',
  'no_pod_available',
  'queue_full',
  'idempotency_key_reused',
  'invalid_webhook_url',
  'storage_credential_not_found',
  'storage_credential_not_verified',
] as const satisfies readonly OperationError[];

export const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'For 24 hours, a repeat with the same key and API key returns the original request, whatever its fields. Asynchronous requests only.',
  schema: { type: 'string', maxLength: MAX_KEY_LENGTH },
};

/** Headers of a 202. */
export const REPLAY_HEADERS = {
  'idempotent-replayed': {
    description: '`true`: the Idempotency-Key matched this earlier request.',
    schema: { type: 'string' },
  },
  'x-berth-idempotency-differs': {
    description: 'Fields of the repeat that differ from the earlier request, with commas between.',
    schema: { type: 'string' },
  },
} as const;

/** A size as sent; any if the model is unknown. */
export const describeSize = (sizes: readonly string[] | undefined, fallback: string): JsonSchema =>
  sizes
    ? { enum: [...sizes, 'auto'], default: sizes.includes(fallback) ? fallback : sizes[0] }
    : { type: 'string', description: 'WIDTHxHEIGHT, one of the model’s, or `auto`.', default: fallback };

/** `model`, `prompt`, the result's destination, and further parameters that the model supports. */
export function describeCommonFields(
  { modelId, limits, enginePreset }: Facts,
  model: ImageModel | VideoModel,
  extras: readonly Extra[],
): Record<string, JsonSchema> {
  const text = { type: 'string', maxLength: limits.promptCharacters };
  const steps = describeSteps(model.steps);
  const engine = findMediaEngine(enginePreset);
  const all: Record<Exclude<Extra, 'fps' | 'output_format'>, JsonSchema> = {
    negative_prompt: text,
    seed: describeBounds('integer', engine.seed),
    num_inference_steps: {
      ...steps,
      description: 'Same as `steps`, which takes precedence if both are sent.',
    },
    guidance_scale: describeBounds('number', engine.guidanceScale),
    true_cfg_scale: describeBounds('number', engine.trueCfgScale),
    flow_shift: describeBounds('number', engine.flowShift),
    extra_params: describeExtraParams(model, modelId),
  };
  const applied = Object.entries(all).filter(([name]) => extras.includes(name as Extra));
  return {
    model: modelId === undefined ? { type: 'string' } : { const: modelId },
    prompt: { ...text, minLength: 1, pattern: '\\S' },
    ...Object.fromEntries(applied),
    ...(extras.includes('num_inference_steps') && { steps }),
    webhook_url: {
      type: 'string',
      format: 'uri',
      description: 'Public HTTPS address that is notified when the request ends.',
    },
    storage_credential_id: {
      ...SAFE_INTEGER,
      description: 'ID of a StorageCredential whose bucket receives the result.',
    },
  };
}

const describeBounds = (type: 'integer' | 'number', { min, max }: Bounds): JsonSchema => ({
  type,
  ...(min > -Number.MAX_VALUE && { minimum: min, maximum: max }),
});

/** As JSON in a form. */
const describeExtraParams = (
  { extraParams = [] }: ImageModel | VideoModel,
  modelId?: string,
): JsonSchema => ({
  type: 'object',
  description: 'Model-specific parameters. In a form: a JSON object.',
  ...(modelId !== undefined && {
    properties: Object.fromEntries(extraParams.map((name) => [name, {}])),
    additionalProperties: false,
  }),
});

const describeSteps = (steps: ImageModel['steps']): JsonSchema => ({
  ...SAFE_INTEGER,
  ...(steps && {
    description: `Inference steps; clamped to ${steps.min} to ${steps.max}.`,
    default: steps.default,
  }),
});

export const IMAGE_FILE: JsonSchema = { type: 'string', format: 'binary' };
export const IMAGE_FILE_TYPES = 'image/png, image/jpeg, image/webp';

/** In JSON, in place of a file. */
export const IMAGE_REFERENCE: JsonSchema = {
  type: 'object',
  required: ['image_url'],
  properties: {
    image_url: {
      type: 'string',
      format: 'uri',
      description: 'A data: URL, or an https: URL of a public address. PNG, JPEG or WebP.',
    },
  },
};
