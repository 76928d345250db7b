/** Hands a request to its route's handler. */
import { ApiError } from './error-response.ts';
import type { GatewayState, Handler } from './request-id.ts';
import type { RouteName } from './routes.ts';

/** The last step of a chain, for a state whose route was found. */
export const runHandler =
  (handlers: Partial<Record<RouteName, Handler>>) =>
  ({ state }: { state: GatewayState }): void | Promise<void> => {
    const handler = handlers[state.route.name as RouteName];
    if (!handler) throw new ApiError('not_found', `${state.route.path} is not served here.`);
    return handler(state);
  };
