/** Reads the requests of the image routes (docs/api.md, "POST /v1/images/generations", "POST /v1/images/edits"). */
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { refuseParameter, requireParameter } from '../http/parameter-error.ts';
import type { IdempotentRepeat, ImageRequest } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import type { FieldReader } from './field-reader.ts';
import type { FormFields } from './form-fields.ts';
import { type FormFile, removeFiles } from './form-parts.ts';
import { type ImageConfig, readImageParameters } from './image-parameters.ts';
import { fetchLinks } from './linked-images.ts';
import { completeRequest, readAsync, readFileRequest, readJsonFields } from './request-fields.ts';
import { takesMask } from './supported-parameters.ts';
import { readUploadedImages } from './uploaded-images.ts';

/** Throws ApiError; ClientDisconnectedError if the client disconnects early. */
export async function readImageGeneration(
  state: GatewayState,
  services: MediaServices,
): Promise<ImageRequest | IdempotentRepeat> {
  const isAsyncByQuery = readAsync(state.exchange.req.url!);
  // SDKs put unknown parameters into the body.
  const isQueued = (fields: FieldReader) => isAsyncByQuery || fields.isTrue('async');
  const known = await readJsonFields(state, services, {
    modality: 'image',
    names: EDIT_FORM.texts,
    mayRepeat: isQueued,
  });
  if (known.kind === 'repeat') return known;
  const { fields } = known;
  return completeRequest(state, services, known, () => ({
    kind: 'image',
    ...readImageParameters(fields, 'txt2img', services.config(state)),
    images: [],
    mask: null,
    isAsync: isQueued(fields),
    isStream: fields.isTrue('stream'),
  }));
}

/** As many as OpenAI accepts. */
export const MAX_IMAGES = 16;

export const EDIT_FORM: FormFields = {
  texts: new Set([
    'model',
    'prompt',
    'n',
    'size',
    'response_format',
    'negative_prompt',
    'seed',
    'steps',
    'num_inference_steps',
    'guidance_scale',
    'true_cfg_scale',
    'flow_shift',
    'output_format',
    'extra_params',
    'storage_credential_id',
    'webhook_url',
    'stream',
    'async',
  ]),
  files: new Map([
    ['image', MAX_IMAGES],
    ['mask', 1],
  ]),
  takesReferences: true,
  aliases: new Map([['images', 'image']]),
};

/** The request holds files. Throws ApiError, or ClientDisconnectedError if the client disconnects early; no file is left then. */
export async function readImageEdit(
  state: GatewayState,
  services: MediaServices,
): Promise<ImageRequest | IdempotentRepeat> {
  const config = services.config(state);
  const isAsyncByQuery = readAsync(state.exchange.req.url!);
  const isQueued = (fields: FieldReader) => isAsyncByQuery || fields.isTrue('async');
  const source = { modality: 'image', form: EDIT_FORM, mayRepeat: isQueued } as const;
  return readFileRequest(state, services, source, (known, files) =>
    completeRequest(state, services, known, async () => {
      const { fields } = known;
      const isAsync = isQueued(fields);
      checkEditFiles(files, isAsync, config);
      const used = takesMask(config) ? files : files.filter(({ field }) => field !== 'mask');
      const { parameters, responseFormat } = readImageParameters(fields, 'img2img', config);
      await fetchLinks(state, used, { ...services, spool: services.storage.spool, limits: config.limits });
      const images = await readUploadedImages(used, 'image');
      const [mask = null] = await readUploadedImages(used, 'mask');
      await removeFiles({ files: files.filter((each) => !used.includes(each)) });
      const isStream = fields.isTrue('stream');
      return { kind: 'image', parameters, images, mask, responseFormat, isAsync, isStream };
    }),
  );
}

const ALLOWED_IMAGE = 'a PNG, JPEG or WebP file, or in JSON "images": [{"image_url": "https://…"}]';

function checkEditFiles(files: readonly FormFile[], isAsync: boolean, config: ImageConfig): void {
  const hasMask = files.some(({ field }) => field === 'mask');
  if (hasMask && config.image!.mask === false) throw refuseMask(config);
  if (!files.some(({ field }) => field === 'image')) throw requireParameter('image', ALLOWED_IMAGE);
  if (hasMask && isAsync)
    throw new ApiError(
      'async_mask_unsupported',
      '`mask` cannot be sent with async=true: omit it, or send the edit without async=true.',
      { param: 'mask' },
    );
}

/** A mask that the engine does not read is ignored; one that the deployment rules out is not, since the whole image would be edited. */
const refuseMask = ({ modelId }: ImageConfig): ApiError =>
  refuseParameter(
    'unsupported_parameter',
    'mask',
    `${modelId} cannot edit part of an image. Omit \`mask\`, and describe the part in the prompt.`,
  );
