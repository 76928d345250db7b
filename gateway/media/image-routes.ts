/** The image routes: a request is parsed, then queued or served synchronously. */
import type { Acknowledgement } from '../../api/api-objects.ts';
import { ApiError } from '../http/error-response.ts';
import { ClientDisconnectedError, type GatewayState } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import { explainMissingReplica } from '../http/unavailability.ts';
import { findLinkPlace } from '../jobs/link-place.ts';
import { type IdempotentRepeat, type ImageRequest, listFiles } from '../jobs/media-request.ts';
import type { MediaServices } from '../jobs/services.ts';
import { type AcceptedRequest, describeRepeat, enqueueRequest } from '../jobs/submission.ts';
import { answerEvents, answerInline, answerLinks } from './image-answer.ts';
import { ImageCharge } from './image-charge.ts';
import { readImageEdit, readImageGeneration } from './image-request.ts';
import { storeImages } from './image-results.ts';
import { type ImageEngines, makeImages, offerQueue } from './sync-images.ts';

/** Without engines, as in the front, only asynchronous requests are served. */
export type ImageServices = MediaServices & Partial<ImageEngines>;

const TIMED_OUT = 504;

type ReadRequest = (state: GatewayState, services: MediaServices) => Promise<ImageRequest | IdempotentRepeat>;

/** docs/api.md, "POST /v1/images/generations", "POST /v1/images/edits". */
export const buildImageHandlers = (services: ImageServices) => ({
  image_generations: (state: GatewayState) => serveImages(readImageGeneration, services, state),
  image_edits: (state: GatewayState) => serveImages(readImageEdit, services, state),
  image_variations: (state: GatewayState) => {
    const { modelId } = services.config(state);
    throw new ApiError(
      'invalid_request_error',
      `${modelId} does not support variations: use POST /v1/images/edits with a prompt.`,
    );
  },
});

async function serveImages(read: ReadRequest, services: ImageServices, state: GatewayState): Promise<void> {
  const request = await read(state, services);
  if (request.kind === 'repeat') return acknowledge(state, describeRepeat(request));
  try {
    if (request.isAsync) await queue(request, services, state);
    else await serveNow(request, services, state);
  } finally {
    await Promise.all(listFiles(request).map((file) => file.remove()));
  }
}

async function queue(request: ImageRequest, services: ImageServices, state: GatewayState): Promise<void> {
  acknowledge(state, await enqueueRequest(services, state, request));
}

/** docs/api.md, "Acknowledgement". */
function acknowledge({ exchange }: GatewayState, { id, status, estimatedSeconds }: AcceptedRequest): void {
  const answer: Acknowledgement = {
    id,
    object: 'inference.request',
    status,
    modality: 'image',
    estimated_seconds: estimatedSeconds,
  };
  sendJSON(exchange, answer, { status: 202 });
}

async function serveNow(request: ImageRequest, services: ImageServices, state: GatewayState): Promise<void> {
  const { exchange } = state;
  const config = services.config(state);
  const { capacity, findPool } = services;
  if (!capacity || !findPool) {
    throw offerQueue(explainMissingReplica(config));
  }
  const charge = new ImageCharge(request, { config, services, budgets: state.budgets?.text });
  let work: Promise<unknown> | null = null;
  try {
    const images = await makeImages(request, state, {
      services,
      engines: { ...services, capacity, findPool },
      charge: () => charge.take(),
      onBegin: (begun) => {
        work = begun;
      },
    });
    const isInline = request.isStream || request.responseFormat === 'b64_json';
    const urls =
      isInline && request.credential === null
        ? []
        : await storeImages(images, exchange, {
            destination: {
              namespace: config.namespace,
              credential: request.credential,
              budgetMs: config.limits.imageTimeoutMs,
              place: findLinkPlace(config, exchange.req.headers),
            },
            services,
          });
    exchange.check();
    exchange.account.bill = { usage: null, micros: charge.micros };
    exchange.headers.push(...exchange.account.receiptHeaders());
    if (request.isStream) answerEvents(exchange, images, request);
    else if (isInline) await answerInline(exchange, images);
    else answerLinks(exchange, urls);
  } catch (error) {
    if (!exchange.res.headersSent) settle(charge, isClientsOwn(exchange.canceled) ? work : null);
    exchange.account.bill = charge.micros > 0 ? { usage: null, micros: charge.micros } : null;
    throw error;
  }
}

/** The client disconnected, or its budget expired. A replica that is being removed asks the client to retry what is not charged. */
const isClientsOwn = (canceled: Error | null): boolean =>
  canceled instanceof ClientDisconnectedError ||
  (canceled instanceof ApiError && canceled.status === TIMED_OUT);

/** `work`: the engine's remaining work. It cannot be stopped, so it is charged although nobody waits for it anymore. */
function settle(charge: ImageCharge, work: Promise<unknown> | null): void {
  if (work) work.catch(() => charge.refund());
  else charge.refund();
}
