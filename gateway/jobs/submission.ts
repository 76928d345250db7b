/** Puts a media request into its deployment's queue, with its files in the managed bucket (docs/api.md, "Acknowledgement"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import {
  digestIdempotencyKey,
  generateRequestId,
  MAX_PARAMS_BYTES,
  type RequestStatus,
  type StoredObject,
} from '../../api/request.ts';
import { sealPrompt } from '../../api/sealed-prompt.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import { type SubmissionAnswer, submitRequest } from '../../redis/requests/request-calls.ts';
import type { Job, StoredJob } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { inputKey } from '../storage/object-keys.ts';
import { refuseUploads, UploadError } from '../storage/upload-error.ts';
import { storeFiles } from '../storage/uploads.ts';
import { requireSame } from './idempotency.ts';
import {
  type IdempotentRepeat,
  listFiles,
  type MediaOrder,
  priceOrder,
  type UploadedFile,
  type VideoOrder,
} from './order.ts';
import { expectJobMs } from './pace.ts';
import { retryWhileRedisDown } from './retry.ts';
import type { MediaServices } from './services.ts';

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

export interface JobPlace {
  namespace: string;
  /** Of the request that is about to be submitted. */
  id: string;
  order: MediaOrder;
  state: GatewayState;
}

export interface SubmittedJob {
  /** At most MAX_PARAMS_BYTES. */
  params: string;
  /** All that was stored, for the record to own. */
  inputs: StoredObject[];
}

const UPLOAD_TIMEOUT_MS = 60_000;
/** Removed then, unless a record has taken them over. */
const ORPHANED_MS = 15 * 60_000;
const EXTENSIONS: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };

/** Throws ApiError, or ClientDisconnectedError where the client leaves before all is stored. */
export async function storeJob(services: MediaServices, place: JobPlace): Promise<SubmittedJob> {
  const files = listFiles(place.order);
  const names = files.map((file, index) => `${index}.${EXTENSIONS[file.contentType] ?? 'bin'}`);
  const objects = files.length === 0 ? [] : await storeInputs(services, place, { files, names });
  const job = buildJob(place.order, objects, files);
  const params = JSON.stringify(job);
  if (Buffer.byteLength(params) <= MAX_PARAMS_BYTES) return { params, inputs: objects };

  const { spool } = services.storage;
  const file = await spool.hold(asSource(params), { maxBytes: Buffer.byteLength(params) }).catch((error) => {
    throw error instanceof UploadError ? refuseUploads() : error;
  });
  try {
    const parameters = { ...file, contentType: 'application/json', fileName: 'job.json' };
    const [object] = await storeInputs(services, place, { files: [parameters], names: ['job.json'] });
    const stored: StoredJob = { v: 1, kind: 'stored', object: object! };
    return { params: JSON.stringify(stored), inputs: [...objects, object!] };
  } finally {
    await file.remove();
  }
}

async function* asSource(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

async function storeInputs(
  { storage, redis }: MediaServices,
  { namespace, id, state }: JobPlace,
  { files, names }: { files: readonly UploadedFile[]; names: readonly string[] },
): Promise<StoredObject[]> {
  const { objects } = await storeFiles(
    { ...storage, redis },
    {
      namespace,
      credential: null,
      files: files.map((file, index) => ({
        file,
        key: inputKey(namespace, id, names[index]!),
        contentType: file.contentType,
      })),
      removeInMs: ORPHANED_MS,
      deadlineMs: UPLOAD_TIMEOUT_MS,
      signal: state.exchange.signal,
    },
  ).catch((error) => {
    state.exchange.check();
    throw error instanceof UploadError ? new ApiError(error.code, error.message) : error;
  });
  return objects;
}

function buildJob(order: MediaOrder, objects: readonly StoredObject[], files: readonly UploadedFile[]): Job {
  const inputs = files.map(({ contentType, fileName, bytes }, index) => ({
    object: objects[index]!,
    contentType,
    fileName,
    bytes,
  }));
  const base = { v: 1, credential: order.credential, inputs } as const;
  return order.kind === 'image'
    ? { ...base, kind: 'image', parameters: order.parameters }
    : { ...base, kind: 'video', parameters: order.parameters };
}
