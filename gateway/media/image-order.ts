/** Reads the requests of the image routes (contract: POST /v1/images/generations, POST /v1/images/edits). */
import { readJsonBody } from '../middleware/json-body.ts';
import type { GatewayState } from '../middleware/request-id.ts';
import { checkDestination, readWishes } from './destination.ts';
import { FieldReader } from './field-reader.ts';
import { readImageParameters } from './image-parameters.ts';
import type { ImageOrder } from './order.ts';
import { readAsync, readIdempotencyKey } from './order-fields.ts';
import type { MediaServices } from './services.ts';

/** Throws ApiError; ClientGone when the client leaves before the end. */
export async function readImageGeneration(state: GatewayState, services: MediaServices): Promise<ImageOrder> {
  const { req } = state.exchange;
  const config = services.config(state);
  const isAsync = readAsync(req.url!);
  const idempotencyKey = readIdempotencyKey(req.headers['idempotency-key']);
  const { value } = await readJsonBody(state.exchange, config.limits);
  const fields = FieldReader.ofJSON(value);
  const wishes = readWishes(fields);
  const { parameters, responseFormat } = readImageParameters(fields, 'txt2img', config);
  const destination = await checkDestination(wishes, config, services);
  state.exchange.check();
  return {
    kind: 'image',
    parameters,
    images: [],
    mask: null,
    responseFormat,
    isAsync,
    isStream: fields.isTrue('stream'),
    idempotencyKey,
    ...destination,
  };
}
