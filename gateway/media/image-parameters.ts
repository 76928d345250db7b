/** Parameters of images (docs/api.md, "POST /v1/images/generations", "POST /v1/images/edits"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { listExtras } from '../../api/media-parameters.ts';
import type { ImageParameters } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { checkExtraParameters } from './extra-parameters.ts';
import type { FieldReader } from './field-reader.ts';
import {
  chooseDefault,
  listSizes,
  readExtraParameters,
  readModel,
  readPromptField,
  requireServedModel,
} from './request-fields.ts';

export const DEFAULT_SIZE = '1024x1024';
export const RESPONSE_FORMATS = ['url', 'b64_json'] as const;
export const OUTPUT_FORMATS = ['png', 'jpeg', 'webp'] as const;

export type ImageConfig = Pick<GatewayConfig, 'modelId' | 'limits' | 'image' | 'video' | 'enginePreset'>;

export interface ImageFields {
  parameters: ImageParameters;
  responseFormat: (typeof RESPONSE_FORMATS)[number];
}

/** Checks types first, then the model, then values. Throws ApiError. */
export function readImageParameters(
  fields: FieldReader,
  task: ImageParameters['task'],
  config: ImageConfig,
): ImageFields {
  const model = config.image!;
  const { promptCharacters, imagesPerRequest } = config.limits;
  const extras = listExtras(config, task);
  const given = readModel(fields, config);
  const prompt = readPromptField(fields, config.limits);
  const n = fields.integer('n', { min: 1, max: imagesPerRequest }) ?? 1;
  const wanted = fields.text('size', `one of ${listSizes(model.sizes)}`, 'size_not_supported') ?? 'auto';
  const size = wanted === 'auto' ? chooseDefault(model.sizes, DEFAULT_SIZE) : wanted;
  const responseFormat = fields.choice('response_format', RESPONSE_FORMATS) ?? 'url';
  const extra = readExtraParameters(fields, extras, { steps: model.steps, promptCharacters });
  const outputFormat = extras.includes('output_format')
    ? fields.choice('output_format', OUTPUT_FORMATS)
    : undefined;
  requireServedModel(given, config);
  checkTask(task, config);
  checkExtraParameters(extra, config);
  if (!model.sizes.includes(size))
    throw new ApiError(
      'size_not_supported',
      `\`size\` ${size.slice(0, 40)} is not supported by ${config.modelId}: it must be one of ${listSizes(model.sizes)}.`,
      { param: 'size' },
    );
  return {
    parameters: {
      task,
      prompt,
      n,
      size,
      ...extra,
      ...(outputFormat && { outputFormat }),
    },
    responseFormat,
  };
}

function checkTask(task: ImageParameters['task'], { modelId, image }: ImageConfig): void {
  if (image!.tasks.includes(task)) return;
  const reason =
    task === 'img2img'
      ? 'does not accept input images: use POST /v1/images/generations'
      : 'generates images from input images only: use POST /v1/images/edits';
  throw refuseParameter('unsupported_value', 'model', `${modelId} ${reason}.`);
}
