/** Reads the requests of the video routes (docs/api.md, "POST /v1/videos", "POST /v1/videos/generations"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { GatewayState } from '../http/exchange.ts';
import { readJsonBody } from '../http/json-body.ts';
import { findRepeat } from '../jobs/idempotency.ts';
import type { IdempotentRepeat, VideoRequest } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import { FieldReader } from './field-reader.ts';
import { type FormFields, readForm, removeFiles } from './multipart.ts';
import { checkDestination, parseDestination, readIdempotencyKey } from './request-fields.ts';
import { readUploadedImages } from './uploaded-images.ts';
import { readVideoFormParameters, readVideoGenerationParameters } from './video-parameters.ts';

/** Throws ApiError; ClientDisconnectedError when the client leaves before the end. */
export async function readVideoGeneration(
  state: GatewayState,
  services: MediaServices,
): Promise<VideoRequest | IdempotentRepeat> {
  const { req } = state.exchange;
  const config = services.config(state);
  const idempotencyKey = readIdempotencyKey(req.headers['idempotency-key']);
  const fields = await readJsonBody(state, {
    limits: config.limits,
    interpret: ({ value }) => FieldReader.ofJSON(value, VIDEO_JSON_FIELDS),
    isKept: true,
  });
  const known = await findRepeat(services, state, {
    modality: 'video',
    idempotencyKey,
    listTexts: () => fields.list(VIDEO_JSON_FIELDS),
  });
  if (known.kind === 'repeat') return known;
  const destinationFields = parseDestination(fields);
  const { parameters, seconds, askedSeconds } = readVideoGenerationParameters(fields, config);
  const destination = await checkDestination(destinationFields, config, services);
  state.exchange.check();
  return {
    kind: 'video',
    parameters,
    seconds,
    askedSeconds,
    references: [],
    idempotencyKey,
    fingerprint: known.fingerprint,
    ...destination,
  };
}

export const VIDEO_FORM: FormFields = {
  texts: new Set([
    'model',
    'prompt',
    'seconds',
    'size',
    'fps',
    'seed',
    'negative_prompt',
    'steps',
    'num_inference_steps',
    'guidance_scale',
    'true_cfg_scale',
    'flow_shift',
    'extra_params',
    'webhook_url',
    'storage_credential_id',
  ]),
  files: new Map([['input_reference', 1]]),
};

/** Where the model takes several references. */
const formOf = ({ video }: Pick<GatewayConfig, 'video'>): FormFields => ({
  ...VIDEO_FORM,
  files: new Map([['input_reference', video?.references ?? 1]]),
});

/** Of the JSON route. */
export const VIDEO_JSON_FIELDS: ReadonlySet<string> = new Set([
  ...VIDEO_FORM.texts,
  'resolution',
  'duration',
]);

/** The request may hold a file. Throws ApiError; ClientDisconnectedError when the client leaves before the end; no file is left then. */
export async function readVideoForm(
  state: GatewayState,
  services: MediaServices,
): Promise<VideoRequest | IdempotentRepeat> {
  const { exchange } = state;
  const config = services.config(state);
  const idempotencyKey = readIdempotencyKey(exchange.req.headers['idempotency-key']);
  const { spool } = services.storage;
  const form = await readForm(state, formOf(config), { limits: config.limits, spool });
  try {
    const fields = FieldReader.ofForm(form.texts);
    const known = await findRepeat(services, state, {
      modality: 'video',
      idempotencyKey,
      listTexts: () => fields.list(VIDEO_FORM.texts),
      files: form.files,
    });
    if (known.kind === 'repeat') {
      await removeFiles(form);
      return known;
    }
    const destinationFields = parseDestination(fields);
    const hasReference = form.files.length > 0;
    const { parameters, seconds, askedSeconds } = readVideoFormParameters(fields, hasReference, config);
    const references = await readUploadedImages(form.files, 'input_reference');
    const destination = await checkDestination(destinationFields, config, services);
    exchange.check();
    return {
      kind: 'video',
      parameters,
      seconds,
      askedSeconds,
      references,
      idempotencyKey,
      fingerprint: known.fingerprint,
      ...destination,
    };
  } catch (error) {
    await removeFiles(form);
    throw error;
  }
}
