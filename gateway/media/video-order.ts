/** Reads the requests of the video routes (contract: POST /v1/videos, POST /v1/videos/generations). */
import { readJsonBody } from '../middleware/json-body.ts';
import type { GatewayState } from '../middleware/request-id.ts';
import { checkDestination, readWishes } from './destination.ts';
import { FieldReader } from './field-reader.ts';
import type { VideoOrder } from './order.ts';
import { readIdempotencyKey } from './order-fields.ts';
import type { MediaServices } from './services.ts';
import { readVideoGenerationParameters } from './video-parameters.ts';

/** Throws ApiError; ClientGone when the client leaves before the end. */
export async function readVideoGeneration(state: GatewayState, services: MediaServices): Promise<VideoOrder> {
  const { req } = state.exchange;
  const config = services.config(state);
  const idempotencyKey = readIdempotencyKey(req.headers['idempotency-key']);
  const { value } = await readJsonBody(state.exchange, config.limits);
  const fields = FieldReader.ofJSON(value);
  const wishes = readWishes(fields);
  const { parameters, seconds } = readVideoGenerationParameters(fields, config);
  const destination = await checkDestination(wishes, config, services);
  state.exchange.check();
  return { kind: 'video', parameters, seconds, reference: null, idempotencyKey, ...destination };
}
