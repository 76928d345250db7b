/** The video routes: submission, state, content, deletion (docs/api.md, "POST /v1/videos" and those that follow). */
import type { Acknowledgement } from '../../api/api-objects.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { type RequestRecord, VIDEO_STATUS } from '../../api/request.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { readRequest } from '../../redis/requests/request-record.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { sendEmpty, sendJSON } from '../http/json-answer.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import type { IdempotentRepeat, VideoRequest } from '../jobs/media-request.ts';
import { findRequest, readStoredPrompt, signOutputs } from '../jobs/request-lookup.ts';
import { describeVideo } from '../jobs/request-object.ts';
import { cancel } from '../jobs/request-routes.ts';
import type { MediaServices } from '../jobs/services.ts';
import { type AcceptedRequest, describeRepeat, enqueueRequest } from '../jobs/submission.ts';
import { listVideos } from '../jobs/video-list.ts';
import type { FormFields } from './form-fields.ts';
import { fetchLinks } from './linked-images.ts';
import { completeRequest, readFileRequest, readJsonFields } from './request-fields.ts';
import { readUploadedImages } from './uploaded-images.ts';
import { readVideoFormParameters, readVideoGenerationParameters } from './video-parameters.ts';

/** When to poll again; openai's `poll` respects it. */
const POLL_AFTER_MS = '1000';

export const buildVideoHandlers = (services: MediaServices) => ({
  videos: async (state: GatewayState) => {
    const request = await readVideo(state, services);
    if (request.kind === 'repeat') return sendVideo(services, state, { record: request.record, status: 202 });
    const accepted = await enqueueRequest(services, state, request);
    const record = await readAccepted(services.redis, services.config(state), { accepted, request });
    await sendVideo(services, state, { record, status: 202 });
  },
  video_generations: async (state: GatewayState) => {
    const request = await readVideoGeneration(state, services);
    const { id, status, estimatedSeconds } =
      request.kind === 'repeat' ? describeRepeat(request) : await enqueueRequest(services, state, request);
    const answer: Acknowledgement = {
      id,
      object: 'inference.request',
      status,
      modality: 'video',
      estimated_seconds: estimatedSeconds,
    };
    sendJSON(state.exchange, answer, { status: 202 });
  },
  video: async (state: GatewayState) => {
    const record = await findRequest(services, state, 'video');
    await sendVideo(services, state, { record, status: 200 });
  },
  video_list: (state: GatewayState) => listVideos(services, state),
  video_remix: (state: GatewayState) => {
    throw refuseUse(services.config(state).modelId, 'does not support remixing: use POST /v1/videos');
  },
  video_content: async (state: GatewayState) => {
    checkVariant(state.exchange.req.url!);
    const record = await findRequest(services, state, 'video');
    if (record.status !== 'succeeded')
      throw new ApiError('video_not_ready', `The video ${record.id} is ${VIDEO_STATUS[record.status]}.`);
    const [url] = await signOutputs(services, state, record);
    if (!url) throw new ApiError('result_expired', `The content of the video ${record.id} has expired.`);
    sendEmpty(state.exchange, 302, ['location', url, 'cache-control', 'no-store']);
  },
  video_delete: async (state: GatewayState) => {
    await findRequest(services, state, 'video');
    const { verdict, record } = await cancel(services, state);
    if (verdict === 'not_cancellable' && record.status === 'running')
      throw new ApiError('video_not_cancellable', `The video ${record.id} is in_progress.`);
    sendEmpty(state.exchange, 204);
  },
});

const refuseUse = (modelId: string, reason: string): ApiError =>
  new ApiError('invalid_request_error', `${modelId} ${reason}.`);

/** Nothing else is kept of a video. */
function checkVariant(url: string): void {
  const query = url.indexOf('?');
  const variant = query < 0 ? null : new URLSearchParams(url.slice(query)).get('variant');
  if (variant === null || variant === '' || variant === 'video') return;
  throw refuseParameter(
    'unsupported_value',
    'variant',
    '`variant` must be video: thumbnails and spritesheets are not available.',
  );
}

async function sendVideo(
  services: MediaServices,
  state: GatewayState,
  { record, status }: { record: RequestRecord; status: number },
): Promise<void> {
  const isRunning = record.status === 'queued' || record.status === 'running';
  const prompt = await readStoredPrompt(services, services.config(state).namespace, record.id);
  sendJSON(state.exchange, describeVideo(record, prompt), {
    status,
    more: isRunning ? ['openai-poll-after-ms', POLL_AFTER_MS] : [],
  });
}

/** Its record as accepted: a worker may have claimed it by now. It is accepted even if this read fails. */
export async function readAccepted(
  redis: RedisClient,
  { namespace, modelId }: Pick<GatewayConfig, 'namespace' | 'modelId'>,
  { accepted, request }: { accepted: AcceptedRequest; request: VideoRequest },
): Promise<RequestRecord> {
  const record = await readRequest(redis, namespace, accepted.id).catch((error) => {
    if (!isRedisAway(error)) throw error;
    return null;
  });
  const asAccepted = accepted.status === 'queued' ? { status: accepted.status } : {};
  return { ...(record ?? describeAccepted(accepted, request, modelId)), ...asAccepted };
}

/** For the rare cases that the record, or Redis, is already gone. */
const describeAccepted = (
  { id, status }: AcceptedRequest,
  request: VideoRequest,
  model: string,
): RequestRecord => ({
  id,
  deployment: '',
  registrationId: 0,
  modality: 'video',
  status,
  model,
  size: request.parameters.size,
  seconds: request.seconds,
  progress: 0,
  queuedAt: Date.now(),
  startedAt: null,
  completedAt: null,
  output: null,
  errorCode: null,
  errorMessage: null,
});

/** Throws ApiError; ClientDisconnectedError if the client disconnects early. */
export async function readVideoGeneration(
  state: GatewayState,
  services: MediaServices,
): Promise<VideoRequest | IdempotentRepeat> {
  const known = await readJsonFields(state, services, { modality: 'video', names: VIDEO_JSON_FIELDS });
  if (known.kind === 'repeat') return known;
  return completeRequest(state, services, known, () => ({
    kind: 'video',
    ...readVideoGenerationParameters(known.fields, services.config(state)),
    references: [],
  }));
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
  takesReferences: true,
};

/** If the model accepts several references. */
const formOf = ({ video }: Pick<GatewayConfig, 'video'>): FormFields => ({
  ...VIDEO_FORM,
  files: new Map([['input_reference', video?.references ?? 1]]),
});

/** Fields of the route that takes JSON alone. */
export const VIDEO_JSON_FIELDS: ReadonlySet<string> = new Set([
  ...VIDEO_FORM.texts,
  'resolution',
  'duration',
]);

/** The request may hold files. Throws ApiError, or ClientDisconnectedError if the client disconnects early; no file is left then. */
export function readVideo(
  state: GatewayState,
  services: MediaServices,
): Promise<VideoRequest | IdempotentRepeat> {
  const config = services.config(state);
  const source = { modality: 'video', form: formOf(config) } as const;
  return readFileRequest(state, services, source, (known, files) =>
    completeRequest(state, services, known, async () => {
      const read = readVideoFormParameters(known.fields, files.length > 0, config);
      await fetchLinks(state, files, { ...services, spool: services.storage.spool, limits: config.limits });
      return { kind: 'video', ...read, references: await readUploadedImages(files, 'input_reference') };
    }),
  );
}
