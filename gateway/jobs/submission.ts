/** Puts a media order into its deployment's queue (docs/api.md, "Acknowledgement", "Idempotency"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { digestIdempotencyKey, generateRequestId, type RequestStatus } from '../../api/request.ts';
import { sealPrompt } from '../../api/sealed-prompt.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import { type SubmissionAnswer, submitRequest } from '../../redis/requests/request-calls.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/request-id.ts';
import { type IdempotentRepeat, listFiles, type MediaOrder, priceOrder, type VideoOrder } from './order.ts';
import { expectJobMs } from './pace.ts';
import { requireSame } from './repeats.ts';
import { retryWhileRedisDown } from './retry.ts';
import type { MediaServices } from './services.ts';
import { storeJob } from './submitted-job.ts';

export interface Accepted {
  id: string;
  /** The present one, where an idempotency key named an earlier request. */
  status: RequestStatus;
  estimatedSeconds: number;
}

export const describeRepeat = ({ record: { id, status }, estimatedSeconds }: IdempotentRepeat): Accepted => ({
  id,
  status,
  estimatedSeconds,
});

/** How long a client waits while Redis is down; retries have the same id. */
const RETRY_TIMEOUT_MS = 5_000;
const LATER_RETRY_SECONDS = 30;
const PAYMENT_REQUIRED = 402;

/** Removes the order's files in every case. Throws ApiError, or the error of Redis while it is down. */
export async function submitOrder(
  services: MediaServices,
  state: GatewayState,
  order: MediaOrder,
): Promise<Accepted> {
  try {
    return await submit(services, state, order);
  } finally {
    await Promise.all(listFiles(order).map((file) => file.remove()));
  }
}

async function submit(services: MediaServices, state: GatewayState, order: MediaOrder): Promise<Accepted> {
  const config = services.config(state);
  const { namespace, name: deployment } = config;
  const id = generateRequestId(services.storage.requestPrefix(namespace));
  const { params, inputs } = await storeJob(services, { namespace, id, order, state });
  const submission = {
    namespace,
    deployment,
    id,
    modality: order.kind,
    sha256: state.keyHash,
    idempotency: digestOrder(order, state.keyHash, deployment),
    ...(order.fingerprint !== null && { fingerprint: order.fingerprint }),
    priceMicros: priceOrder(order, config),
    slots: services.countSlots(state),
    expectedMs: expectJobMs(order),
    model: config.modelId,
    ...(order.kind === 'video'
      ? describeVideo(services, { namespace, id }, order)
      : { size: order.parameters.size }),
    ...(order.webhookUrl !== null && { webhookUrl: order.webhookUrl }),
    inputs,
    params,
  };
  // After a timeout it may have been accepted all the same: its inputs stay, and their registration removes them if not.
  const answer = await retryWhileRedisDown(
    () => submitRequest(services.redis, submission),
    AbortSignal.timeout(RETRY_TIMEOUT_MS),
  );
  if (answer.verdict === 'accepted') return answer;
  if (inputs.length > 0) await registerObjects(services.redis, namespace, { objects: inputs, removeInMs: 0 });
  if (answer.verdict === 'duplicate') {
    // Both were on their way at once.
    requireSame(answer.fingerprint, order.fingerprint ?? '');
    return answer;
  }
  throw describeRefusal(answer, config);
}

/** What a Video object shows beyond every record. */
function describeVideo(
  { storage }: MediaServices,
  place: { namespace: string; id: string },
  { parameters: { size, prompt }, seconds }: VideoOrder,
) {
  const key = storage.promptKey(place.namespace);
  return { size, seconds, ...(key && { sealedPrompt: sealPrompt(prompt, place, key) }) };
}

const digestOrder = (order: MediaOrder, sha256: string, deployment: string): string | null =>
  order.idempotencyKey === null
    ? null
    : digestIdempotencyKey({ sha256, deployment, modality: order.kind, header: order.idempotencyKey });

function describeRefusal(refusal: SubmissionAnswer, { name, limits }: GatewayConfig): ApiError {
  switch (refusal.verdict) {
    case 'queue_full':
      return new ApiError(
        'queue_full',
        `The queue of the deployment ${name} is full: it holds at most ${limits.maxQueued} requests, and at most half ` +
          'of them of one API key while others wait.',
        { retryAfter: LATER_RETRY_SECONDS },
      );
    case 'credit':
      return new ApiError('insufficient_quota', 'Insufficient workspace credit for this request.', {
        status: PAYMENT_REQUIRED,
      });
    case 'refused':
      return new ApiError('temporarily_unavailable', `Requests cannot be queued here: ${refusal.reason}`, {
        retryAfter: LATER_RETRY_SECONDS,
      });
    default:
      return new ApiError('no_pod_available', `The deployment ${name} is being deleted.`, {
        retryAfter: LATER_RETRY_SECONDS,
      });
  }
}
