/** Follows, lists and cancels requests (docs/api.md, "GET /v1/requests" and those that follow). */
import { randomBytes } from 'node:crypto';
import type { RequestList } from '../../api/api-objects.ts';
import {
  DEFAULT_LIST_LIMIT,
  MAX_LIST_LIMIT,
  REQUEST_ID,
  REQUEST_STATUSES,
  type RequestStatus,
} from '../../api/request.ts';
import { type Cancellation, cancelRequest } from '../../redis/requests/request-calls.ts';
import { listRequests } from '../../redis/requests/request-record.ts';
import { retryWhileRedisDown } from '../../redis/retry-while-down.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayState } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import { buildInputHandlers } from './kept-input.ts';
import { readLimit } from './list-limit.ts';
import { findRequest, refuse, refuseForeign, signOutputs } from './request-lookup.ts';
import { describeRequest } from './request-object.ts';
import type { MediaServices } from './services.ts';

export const buildRequestHandlers = (services: MediaServices) => ({
  ...buildInputHandlers(services),
  requests: async (state: GatewayState) => {
    const { namespace, name: deployment } = services.config(state);
    const query = readQuery(state.exchange.req.url!);
    const records = await listRequests(services.redis, { namespace, deployment, ...query });
    const list: RequestList = { object: 'list', data: records.map((record) => describeRequest(record)) };
    sendJSON(state.exchange, list);
  },
  request: async (state: GatewayState) => {
    const record = await findRequest(services, state);
    const isDone = record.status === 'succeeded';
    const urls = isDone ? await signOutputs(services, state, record) : undefined;
    sendJSON(state.exchange, describeRequest(record, urls));
  },
  request_cancel: async (state: GatewayState) => {
    // It refuses requests of deployments that the key may not call.
    await retryWhileRedisDown(() => findRequest(services, state), AbortSignal.timeout(RETRY_TIMEOUT_MS));
    const outcome = await cancel(services, state);
    if (outcome.verdict === 'canceled') return sendJSON(state.exchange, describeRequest(outcome.record));
    throw new ApiError(
      'request_not_cancellable',
      `The request ${outcome.record.id} is ${outcome.record.status}; only queued requests can be canceled.`,
    );
  },
});

/** How long a client waits while Redis is down; retries have the same token. */
const RETRY_TIMEOUT_MS = 5_000;

/** Cancels the request that the path names, which `findRequest` has found. Throws ApiError. */
export async function cancel(
  services: MediaServices,
  state: GatewayState,
): Promise<Exclude<Cancellation, { verdict: 'unknown' }>> {
  const id = state.parameter;
  const { namespace } = services.config(state);
  if (!REQUEST_ID.test(id)) throw refuse(id);
  const claim = { namespace, id, token: randomBytes(16).toString('hex') };
  const outcome = await retryWhileRedisDown(
    () => cancelRequest(services.redis, claim),
    AbortSignal.timeout(RETRY_TIMEOUT_MS),
  );
  if (outcome.verdict !== 'unknown') return outcome;
  await refuseForeign(services, namespace, id);
  throw refuse(id);
}

function readQuery(url: string): { status?: RequestStatus; limit: number } {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
  const limit = readLimit(query, { fallback: DEFAULT_LIST_LIMIT, max: MAX_LIST_LIMIT });
  const wanted = query.get('status') || null;
  const status = REQUEST_STATUSES.find((each) => each === wanted);
  if (wanted !== null && !status)
    throw refuseParameter(
      'invalid_value',
      'status',
      `\`status\` must be one of ${REQUEST_STATUSES.join(', ')}.`,
    );
  return { limit, ...(status && { status }) };
}
