/** Documents the image routes of a model: its sizes, tasks, and supported parameters. */

import { listExtras } from '../../api/media-parameters.ts';
import { DEFAULT_SIZE, OUTPUT_FORMATS, RESPONSE_FORMATS } from '../media/image-parameters.ts';
import { EDIT_FORM, MAX_IMAGES } from '../media/image-request.ts';
import { takesMask } from '../media/supported-parameters.ts';
import type { JsonSchema } from '../text/fields.ts';
import {
  describeCommonFields,
  describeSize,
  IDEMPOTENCY_KEY,
  IMAGE_FILE,
  IMAGE_FILE_TYPES,
  IMAGE_REFERENCE,
  MEDIA_ERRORS,
  REPLAY_HEADERS,
} from './media-fields.ts';
import {
  type Body,
  type Facts,
  jsonBody,
  type Operation,
  type OperationAnswer,
  type Parameter,
} from './operation.ts';

const ASYNC: Parameter = {
  name: 'async',
  in: 'query',
  description:
    'Queues the request and returns 202 immediately; the job may then take `limits.imageJobTimeout`.',
  schema: { type: 'boolean', default: false },
};

const ANSWERS: Record<number, OperationAnswer> = {
  200: {
    description: 'The images; with `stream: true`, one event per image.',
    schema: 'ImageList',
    canStream: true,
  },
  202: {
    description: 'Queued, with `async=true`; follow it under /v1/requests.',
    schema: 'Acknowledgement',
    headers: REPLAY_HEADERS,
  },
};

const ERRORS = [...MEDIA_ERRORS, 'size_not_supported', 'replica_saturated', 'storage_upload_failed'] as const;

function describeFields(facts: Facts, task: 'txt2img' | 'img2img'): Record<string, JsonSchema> {
  const image = facts.image!;
  const extras = listExtras(facts, task);
  const fields: Record<string, JsonSchema> = {
    ...describeCommonFields(facts, image, extras),
    ...(extras.includes('output_format') && { output_format: { enum: [...OUTPUT_FORMATS] } }),
    n: { type: 'integer', minimum: 1, maximum: facts.limits.imagesPerRequest, default: 1 },
    size: describeSize(facts.modelId === undefined ? undefined : image.sizes, DEFAULT_SIZE),
    response_format: { enum: [...RESPONSE_FORMATS], default: 'url' },
    stream: { type: 'boolean', description: 'One event per image, with the image inline.' },
    async: { type: 'boolean', description: 'Same as the query parameter.' },
  };
  const read = [...EDIT_FORM.texts].filter((name) => name in fields);
  return Object.fromEntries(read.map((name) => [name, fields[name]!]));
}

const SYNC_ONLY = { description: 'Synchronous requests only.' };

function describeEdits(facts: Facts): Body[] {
  const fields = describeFields(facts, 'img2img');
  const listOf = (items: JsonSchema) => ({ type: 'array', items, minItems: 1, maxItems: MAX_IMAGES });
  return [
    {
      type: 'multipart/form-data',
      required: ['image', 'model', 'prompt'],
      properties: {
        ...fields,
        image: listOf(IMAGE_FILE),
        ...(takesMask(facts) && { mask: { ...IMAGE_FILE, ...SYNC_ONLY } }),
      },
      files: { image: IMAGE_FILE_TYPES, ...(takesMask(facts) && { mask: IMAGE_FILE_TYPES }) },
    },
    jsonBody(
      {
        ...fields,
        images: listOf(IMAGE_REFERENCE),
        ...(takesMask(facts) && { mask: { ...IMAGE_REFERENCE, ...SYNC_ONLY } }),
      },
      ['images', 'model', 'prompt'],
    ),
  ];
}

export const IMAGE_OPERATIONS = {
  image_generations: (facts: Facts): Operation | null =>
    facts.image?.tasks.includes('txt2img')
      ? {
          summary: 'Generate images from text',
          description: 'Fields that are not listed are ignored.',
          parameters: [ASYNC, IDEMPOTENCY_KEY],
          body: jsonBody(describeFields(facts, 'txt2img'), ['model', 'prompt']),
          answers: ANSWERS,
          errors: [...ERRORS, 'invalid_json', 'image_generation_timeout'],
        }
      : null,
  image_edits: (facts: Facts): Operation | null =>
    facts.image?.tasks.includes('img2img')
      ? {
          summary: 'Generate images from images and text',
          description: 'Fields that are not listed are ignored.',
          parameters: [ASYNC, IDEMPOTENCY_KEY],
          body: describeEdits(facts),
          answers: ANSWERS,
          errors: [
            ...ERRORS,
            'invalid_json',
            'invalid_image',
            'async_mask_unsupported',
            'image_edit_timeout',
          ],
        }
      : null,
};
