/** GET /v1/videos, as OpenAI's SDKs page through it: `after`, `limit`, `order`. */
import type { VideoList } from '../../api/api-objects.ts';
import { REQUEST_ID } from '../../api/request.ts';
import { listRequests } from '../../redis/requests/request-record.ts';
import type { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { readLimit } from './list-limit.ts';
import { readStoredPrompt } from './request-lookup.ts';
import { describeVideo } from './request-object.ts';
import type { MediaServices } from './services.ts';

export const DEFAULT_VIDEO_LIMIT = 20;
export const MAX_VIDEO_LIMIT = 100;
export const VIDEO_ORDERS = ['asc', 'desc'] as const;

/** This deployment's, newest first. */
export async function listVideos(services: MediaServices, state: GatewayState): Promise<void> {
  const { namespace, name: deployment } = services.config(state);
  const { limit, ...query } = readVideoQuery(state.exchange.req.url!);
  // One extra shows whether there are more.
  const found = await listRequests(services.redis, { namespace, deployment, limit: limit + 1, ...query });
  const records = found.slice(0, limit);
  const prompts = await Promise.all(records.map(({ id }) => readStoredPrompt(services, namespace, id)));
  const list: VideoList = {
    object: 'list',
    data: records.map((record, index) => describeVideo(record, prompts[index]!)),
    first_id: records[0]?.id ?? null,
    last_id: records.at(-1)?.id ?? null,
    has_more: found.length > limit,
  };
  sendJSON(state.exchange, list);
}

/** Throws ApiError. */
export function readVideoQuery(url: string): { limit: number; order: 'asc' | 'desc'; after?: string } {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
  const limit = readLimit(query, { fallback: DEFAULT_VIDEO_LIMIT, max: MAX_VIDEO_LIMIT });
  const wanted = query.get('order') || 'desc';
  const order = VIDEO_ORDERS.find((each) => each === wanted);
  if (!order) throw refuse('order', VIDEO_ORDERS.join(' or '));
  const after = query.get('after') || undefined;
  if (after !== undefined && !REQUEST_ID.test(after)) throw refuse('after', 'the id of a video, `req_<hex>`');
  return { limit, order, ...(after && { after }) };
}

const refuse = (param: string, allowed: string): ApiError =>
  refuseParameter('invalid_value', param, `\`${param}\` must be ${allowed}.`);
