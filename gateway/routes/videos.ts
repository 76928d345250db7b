/** The video routes: submission, state, content, deletion (contract: POST /v1/videos and those that follow). */
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { type RequestRecord, VIDEO_STATUS } from '../../contract/request.ts';
import { isRedisAway, type RedisClient } from '../../redis/client.ts';
import { readRequest } from '../../redis/request-record.ts';
import { ApiError } from '../error-response.ts';
import type { VideoOrder } from '../media/order.ts';
import { findRequest, signOutputs } from '../media/request-lookup.ts';
import { describeVideo } from '../media/request-object.ts';
import type { MediaServices } from '../media/services.ts';
import { readVideoForm, readVideoGeneration } from '../media/video-order.ts';
import type { GatewayState } from '../middleware/request-id.ts';
import { type Accepted, submitOrder } from '../queue/submission.ts';
import { sendEmpty, sendJSON } from './json-answer.ts';
import { cancel } from './requests.ts';

/** When it is worth asking again; openai's `poll` obeys it. */
const POLL_AFTER_MS = '1000';

export const buildVideoHandlers = (services: MediaServices) => ({
  videos: async (state: GatewayState) => {
    const order = await readVideoForm(state, services);
    const accepted = await submitOrder(services, state, order);
    sendVideo(state, await readAccepted(services.redis, services.config(state), { accepted, order }), 202);
  },
  video_generations: async (state: GatewayState) => {
    const order = await readVideoGeneration(state, services);
    const { id, status, estimatedSeconds } = await submitOrder(services, state, order);
    sendJSON(
      state.exchange,
      { id, object: 'inference.request', status, modality: 'video', estimated_seconds: estimatedSeconds },
      { status: 202 },
    );
  },
  video: async (state: GatewayState) => {
    sendVideo(state, await findRequest(services, state, 'video'), 200);
  },
  video_content: async (state: GatewayState) => {
    const record = await findRequest(services, state, 'video');
    if (record.status !== 'succeeded')
      throw new ApiError('video_not_ready', `The video ${record.id} is ${VIDEO_STATUS[record.status]}.`);
    const [url] = await signOutputs(services, services.config(state).namespace, record);
    if (!url)
      throw new ApiError('result_expired', `The content of the video ${record.id} is not kept any more.`);
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

function sendVideo({ exchange }: GatewayState, record: RequestRecord, status: number): void {
  const isRunning = record.status === 'queued' || record.status === 'running';
  sendJSON(exchange, describeVideo(record), {
    status,
    more: isRunning ? ['openai-poll-after-ms', POLL_AFTER_MS] : [],
  });
}

/** Its record, as it was accepted: a worker may have taken it by now. Whatever becomes of the look, it is accepted. */
export async function readAccepted(
  redis: RedisClient,
  { namespace, modelId }: Pick<GatewayConfig, 'namespace' | 'modelId'>,
  { accepted, order }: { accepted: Accepted; order: VideoOrder },
): Promise<RequestRecord> {
  const record = await readRequest(redis, namespace, accepted.id).catch((error) => {
    if (!isRedisAway(error)) throw error;
    return null;
  });
  const asAccepted = accepted.status === 'queued' ? { status: accepted.status } : {};
  return { ...(record ?? describeAccepted(accepted, order, modelId)), ...asAccepted };
}

/** For the rare cases that the record is gone already, and that Redis is. */
const describeAccepted = ({ id, status }: Accepted, order: VideoOrder, model: string): RequestRecord => ({
  id,
  deployment: '',
  registrationId: 0,
  modality: 'video',
  status,
  model,
  size: order.parameters.size,
  seconds: order.seconds,
  progress: 0,
  queuedAt: Date.now(),
  startedAt: null,
  completedAt: null,
  output: null,
  errorCode: null,
  errorMessage: null,
});
