/** The image routes: an order is read, then queued, or served while its client waits. */
import { ApiError } from '../error-response.ts';
import { describeUnavailability } from '../front/unavailability.ts';
import { answerEvents, answerInline, answerLinks } from '../media/image-answer.ts';
import { ImageCharge } from '../media/image-charge.ts';
import { readImageEdit, readImageGeneration } from '../media/image-order.ts';
import { storeImages } from '../media/image-results.ts';
import { type ImageOrder, listFiles } from '../media/order.ts';
import type { MediaServices } from '../media/services.ts';
import { type ImageEngines, makeImages } from '../media/sync-images.ts';
import type { GatewayState } from '../middleware/request-id.ts';
import { submitOrder } from '../queue/submission.ts';
import { sendJSON } from './json-answer.ts';

/** Without engines, as in the front, only what is asynchronous is served. */
export type ImageServices = MediaServices & Partial<ImageEngines>;

type ReadOrder = (state: GatewayState, services: MediaServices) => Promise<ImageOrder>;

/** Contract: POST /v1/images/generations, POST /v1/images/edits. */
export const buildImageHandlers = (services: ImageServices) => ({
  image_generations: (state: GatewayState) => serveImages(readImageGeneration, services, state),
  image_edits: (state: GatewayState) => serveImages(readImageEdit, services, state),
});

async function serveImages(read: ReadOrder, services: ImageServices, state: GatewayState): Promise<void> {
  const order = await read(state, services);
  try {
    if (order.isAsync) await queue(order, services, state);
    else await serveNow(order, services, state);
  } finally {
    await Promise.all(listFiles(order).map((file) => file.remove()));
  }
}

async function queue(order: ImageOrder, services: ImageServices, state: GatewayState): Promise<void> {
  const { id, status, estimatedSeconds } = await submitOrder(services, state, order);
  sendJSON(
    state.exchange,
    { id, object: 'inference.request', status, modality: 'image', estimated_seconds: estimatedSeconds },
    { status: 202 },
  );
}

async function serveNow(order: ImageOrder, services: ImageServices, state: GatewayState): Promise<void> {
  const { exchange } = state;
  const config = services.config(state);
  const { capacity, findPool } = services;
  if (!capacity || !findPool) {
    const { message, retryAfter } = describeUnavailability(config);
    throw new ApiError('no_pod_available', `${message} async=true queues the request until then.`, {
      retryAfter,
    });
  }
  const charge = new ImageCharge(order, config, services);
  try {
    const images = await makeImages(order, state, {
      services,
      engines: { ...services, capacity, findPool },
      charge: () => charge.take(),
    });
    const isInline = order.isStream || order.responseFormat === 'b64_json';
    const urls =
      isInline && order.credential === null
        ? []
        : await storeImages(images, exchange, {
            destination: {
              namespace: config.namespace,
              credential: order.credential,
              budgetMs: config.limits.imageTimeoutMs,
            },
            services,
          });
    exchange.check();
    if (order.isStream) answerEvents(exchange, images, order);
    else if (isInline) await answerInline(exchange, images);
    else answerLinks(exchange, urls);
  } catch (error) {
    if (!exchange.res.headersSent) charge.giveBack();
    throw error;
  }
}
