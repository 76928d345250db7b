/** `GET /demand/{workspace}/{deployment}` at the front's own address: for KEDA's `metrics-api` scaler and others (decision 0268). */

import type { DeploymentName } from '../../api/names.ts';
import type { RedisClient } from '../../redis/client.ts';
import { ApiError } from '../http/error-response.ts';
import type { GatewayContext } from '../http/exchange.ts';
import { sendJSON } from '../http/json-answer.ts';
import { identifyCaller } from './authentication.ts';
import type { DemandWatch } from './demand/demand-watch.ts';

export interface DemandRouteServices {
  redis: RedisClient;
  demand: Pick<DemandWatch, 'ask'>;
}

/** null: not this path. */
export function parseDemandPath(path: string): DeploymentName | null {
  const match = /^\/demand\/([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(path);
  return match && { namespace: match[1]!, name: match[2]! };
}

/** Any API key of the workspace may ask; nothing is counted. */
export async function answerDemand(
  { redis, demand }: DemandRouteServices,
  { req, state }: GatewayContext,
  deployment: DeploymentName,
): Promise<void> {
  await identifyCaller(redis, deployment, req.headers);
  if (req.method !== 'GET')
    throw new ApiError('method_not_allowed', 'Send GET.', { headers: ['allow', 'GET'] });
  const figures = await demand.ask(deployment);
  if (!figures) throw new ApiError('not_found', 'The workspace has no deployment of this name.');
  sendJSON(state.exchange, { object: 'demand', deployment: deployment.name, ...figures });
}
