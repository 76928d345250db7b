/** Reads the requests of the video routes (docs/api.md, "POST /v1/videos", "POST /v1/videos/generations"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { GatewayState } from '../http/exchange.ts';
import type { IdempotentRepeat, VideoRequest } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import type { FormFields } from './multipart.ts';
import { checkDestination, parseDestination, readFormRequest, readJsonFields } from './request-fields.ts';
import { readUploadedImages } from './uploaded-images.ts';
import { readVideoFormParameters, readVideoGenerationParameters } from './video-parameters.ts';

/** Throws ApiError; ClientDisconnectedError when the client leaves before the end. */
export async function readVideoGeneration(
  state: GatewayState,
  services: MediaServices,
): Promise<VideoRequest | IdempotentRepeat> {
  const known = await readJsonFields(state, services, { modality: 'video', names: VIDEO_JSON_FIELDS });
  if (known.kind === 'repeat') return known;
  const config = services.config(state);
  const { fields, idempotencyKey, fingerprint } = known;
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
    fingerprint,
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

/** The request may hold files. Throws ApiError; ClientDisconnectedError when the client leaves before the end; no file is left then. */
export function readVideoForm(
  state: GatewayState,
  services: MediaServices,
): Promise<VideoRequest | IdempotentRepeat> {
  const config = services.config(state);
  const source = { modality: 'video', form: formOf(config) } as const;
  return readFormRequest(
    state,
    services,
    source,
    async ({ fields, idempotencyKey, fingerprint }, { files }) => {
      const destinationFields = parseDestination(fields);
      const { parameters, seconds, askedSeconds } = readVideoFormParameters(fields, files.length > 0, config);
      const references = await readUploadedImages(files, 'input_reference');
      const destination = await checkDestination(destinationFields, config, services);
      state.exchange.check();
      return {
        kind: 'video',
        parameters,
        seconds,
        askedSeconds,
        references,
        idempotencyKey,
        fingerprint,
        ...destination,
      };
    },
  );
}
