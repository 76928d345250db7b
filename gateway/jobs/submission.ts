/** Puts a media request into its deployment's queue, with its files in the managed bucket (docs/api.md, "Acknowledgement"). */
import type { GatewayConfig } from '../../api/gateway-config.ts';
import {
  digestIdempotencyKey,
  generateRequestId,
  MAX_PARAMS_BYTES,
  type RequestStatus,
  type StoredObject,
} from '../../api/request.ts';
import { sealParams, sealPrompt } from '../../api/sealed-request.ts';
import { registerObjects } from '../../redis/requests/object-cleanup.ts';
import { type SubmissionAnswer, submitRequest } from '../../redis/requests/request-calls.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { refuseCharge } from '../auth/key-scope.ts';
import type { Job, JobReference } from '../engine/job.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import { inputKey } from '../storage/object-keys.ts';
import { refuseWithoutStorage } from '../storage/remote-url-signer.ts';
import { refuseUploads, UploadError } from '../storage/upload-error.ts';
import { storeFiles } from '../storage/uploads.ts';
import { inSpan, type Span } from '../tracing/span.ts';
import { acceptRepeat } from './idempotency.ts';
import {
  type IdempotentRepeat,
  type ImageRequest,
  listFiles,
  type MediaRequest,
  priceRequest,
  type UploadedFile,
  type VideoRequest,
} from './media-request.ts';
import { expectJobMs } from './pace.ts';
import type { MediaServices, StorageServices } from './services.ts';

export interface AcceptedRequest {
  id: string;
  /** The current one, if an idempotency key matched an earlier request. */
  status: RequestStatus;
  estimatedSeconds: number;
}

export const describeRepeat = ({
  record: { id, status },
  estimatedSeconds,
}: IdempotentRepeat): AcceptedRequest => ({
  id,
  status,
  estimatedSeconds,
});

/** How long a client waits while Redis is down; retries have the same id. */
const RETRY_TIMEOUT_MS = 5_000;
const LATER_RETRY_SECONDS = 30;

/** Removes the request's files in every case. Throws ApiError, or the error of Redis while it is down. */
export async function enqueueRequest(
  services: MediaServices,
  state: GatewayState,
  request: MediaRequest,
): Promise<AcceptedRequest> {
  try {
    const { span } = state.exchange;
    return await inSpan(span, 'submit', (own) => submit(services, state, { request, span: own }), {
      kind: 'producer',
    });
  } finally {
    await Promise.all(listFiles(request).map((file) => file.remove()));
  }
}

async function submit(
  services: MediaServices,
  state: GatewayState,
  { request, span }: { request: MediaRequest; span: Span | null },
): Promise<AcceptedRequest> {
  const config = services.config(state);
  const { namespace, name: deployment } = config;
  const id = generateRequestId(services.storage.requestPrefix(namespace));
  span?.set({ 'berth.job_id': id });
  const place = { namespace, id, key: requirePromptKey(services.storage, namespace) };
  const { params, inputs } = await storeJob(services, { ...place, request, state });
  const submission = {
    namespace,
    deployment,
    id,
    modality: request.kind,
    sha256: state.keyHash,
    ...(state.keyName && { keyName: state.keyName }),
    ...(state.priority && { priority: state.priority }),
    idempotency: digestRequest(request, state.keyHash, deployment),
    ...(request.fingerprint !== null && { fingerprint: request.fingerprint }),
    priceMicros: Math.round(priceRequest(request, config)),
    slots: services.countSlots(state),
    expectedMs: expectJobMs(request),
    model: config.modelId,
    ...(request.kind === 'video' ? describeVideo(request, place) : describeImages(request)),
    ...(request.webhookUrl !== null && { webhookUrl: request.webhookUrl }),
    ...(request.retryOf && { retryOf: request.retryOf }),
    ...(state.budgets && { budgets: state.budgets.text }),
    ...(span && { traceparent: span.headers.traceparent }),
    inputs,
    params,
  };
  // After a timeout it may still have been accepted: its inputs stay, and their registration removes them if not.
  const answer = await retryWhileRedisDown(
    () => submitRequest(services.redis, submission),
    AbortSignal.timeout(RETRY_TIMEOUT_MS),
  );
  if (answer.verdict === 'accepted') {
    const { exchange } = state;
    exchange.account.bill = { usage: null, micros: submission.priceMicros };
    exchange.headers.push(...exchange.account.receiptHeaders());
    return answer;
  }
  if (inputs.length > 0) await registerObjects(services.redis, namespace, { objects: inputs, removeInMs: 0 });
  if (answer.verdict === 'duplicate') {
    // Both were submitted at the same time.
    const { fingerprint: original } = answer;
    acceptRepeat(services, state, { id: answer.id, original, repeat: request.fingerprint ?? '' });
    return answer;
  }
  throw describeRefusal(answer, config, submission.priceMicros);
}

const describeImages = ({ parameters: { size, n } }: ImageRequest) => ({ size, images: n });

/** Fields that only a Video object shows. */
function describeVideo({ parameters: { size, prompt }, seconds }: VideoRequest, place: SealedPlace) {
  return { size, seconds, sealedPrompt: sealPrompt(prompt, place, place.key) };
}

function requirePromptKey(storage: StorageServices, namespace: string): Buffer {
  const key = storage.promptKey(namespace);
  if (!key) throw refuseWithoutStorage();
  return key;
}

const digestRequest = (request: MediaRequest, sha256: string, deployment: string): string | null =>
  request.idempotencyKey === null
    ? null
    : digestIdempotencyKey({ sha256, deployment, modality: request.kind, header: request.idempotencyKey });

function describeRefusal(
  refusal: SubmissionAnswer,
  { name, limits }: GatewayConfig,
  priceMicros: number,
): ApiError {
  switch (refusal.verdict) {
    case 'queue_full':
      return new ApiError(
        'queue_full',
        `The queue of the deployment ${name} is full: it holds at most ${limits.maxQueued} requests, and at most half ` +
          'of them of one API key while others wait.',
        { retryAfter: LATER_RETRY_SECONDS },
      );
    case 'credit':
      return refuseCharge('credit', priceMicros);
    case 'budget':
      return refuseCharge(refusal.budget, priceMicros);
    case 'refused':
      return refuseAsUnavailable('queueRefused', `Requests cannot be queued here: ${refusal.reason}`);
    default:
      return refuseAsUnavailable('deleting', `The deployment ${name} is being deleted.`);
  }
}

interface SealedPlace {
  namespace: string;
  /** ID of the request that is about to be submitted. */
  id: string;
  /** From promptKey. */
  key: Buffer;
}

export interface RequestPlace extends SealedPlace {
  request: MediaRequest;
  state: GatewayState;
}

export interface JobFields {
  /** Sealed. */
  params: string;
  /** All stored objects, to be owned by the record. */
  inputs: StoredObject[];
}

const UPLOAD_TIMEOUT_MS = 60_000;
/** Removed then, unless a record owns them by then. */
const ORPHANED_MS = 15 * 60_000;
const EXTENSIONS: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };

/** Throws ApiError, or ClientDisconnectedError if the client disconnects before all is stored. */
export async function storeJob(services: MediaServices, place: RequestPlace): Promise<JobFields> {
  const files = listFiles(place.request);
  const names = files.map((file, index) => `${index}.${EXTENSIONS[file.contentType] ?? 'bin'}`);
  const objects = files.length === 0 ? [] : await storeInputs(services, place, { files, names });
  const job = buildJob(place.request, objects, files);
  const params = JSON.stringify(job);
  const { key } = place;
  if (Buffer.byteLength(params) <= MAX_PARAMS_BYTES)
    return { params: sealParams(params, place, key), inputs: objects };

  const { spool } = services.storage;
  const file = await spool.hold(asSource(params), { maxBytes: Buffer.byteLength(params) }).catch((error) => {
    throw error instanceof UploadError ? refuseUploads() : error;
  });
  try {
    const parameters = { ...file, contentType: 'application/json', fileName: 'job.json' };
    const [object] = await storeInputs(services, place, { files: [parameters], names: ['job.json'] });
    const stored: JobReference = { v: 1, kind: 'stored', object: object! };
    return { params: sealParams(JSON.stringify(stored), place, key), inputs: [...objects, object!] };
  } finally {
    await file.remove();
  }
}

async function* asSource(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

async function storeInputs(
  { storage, redis }: MediaServices,
  { namespace, id, state }: RequestPlace,
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

function buildJob(
  request: MediaRequest,
  objects: readonly StoredObject[],
  files: readonly UploadedFile[],
): Job {
  const inputs = files.map(({ contentType, fileName, bytes }, index) => ({
    object: objects[index]!,
    contentType,
    fileName,
    bytes,
  }));
  const base = { v: 1, credential: request.credential, inputs } as const;
  return request.kind === 'image'
    ? { ...base, kind: 'image', parameters: request.parameters }
    : { ...base, kind: 'video', parameters: request.parameters, askedSeconds: request.askedSeconds };
}
