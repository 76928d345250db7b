/** Finds the route: an unknown path is 404, a known one with another method 405. */
import { ApiError } from './error-response.ts';
import type { GatewayMiddleware, GatewayState, Handler } from './exchange.ts';
import { sendEmpty } from './json-answer.ts';
import { normalizePath, readPath } from './request-path.ts';
import type { RouteName, RouteTable, ServedModel } from './routes.ts';

const MAX_SHOWN_CHARACTERS = 200;

/** `model`, where it is known, tells what a wrong path could have been. */
export const findRoute =
  (table: RouteTable, model?: () => ServedModel): GatewayMiddleware =>
  (ctx, next) => {
    const { req, state } = ctx;
    if (req.httpVersion === '1.1' && req.headers.host === undefined)
      throw new ApiError('invalid_request_error', 'The Host header is missing.');
    const path = readPath(req.url ?? '/');
    const match = table.match(normalizePath(path));
    if (!match) throw refusePath(path, model && table.listFor(model()));
    // Node sends no body to who asks for the head.
    const route = match.methods.get(req.method === 'HEAD' ? 'GET' : req.method!);
    if (!route) throw refuseMethod(path, req.method!, listMethods(match.methods));
    state.route = route;
    state.parameter = match.parameter;
    return next();
  };

function refusePath(path: string, served?: string): ApiError {
  const hint = served ? `; this deployment serves ${served}` : '';
  return new ApiError('not_found', `The path ${path.slice(0, MAX_SHOWN_CHARACTERS)} does not exist${hint}.`);
}

const refuseMethod = (path: string, method: string, allowed: string) =>
  new ApiError(
    'method_not_allowed',
    `${path.slice(0, MAX_SHOWN_CHARACTERS)} allows ${allowed}, not ${method}.`,
    {
      headers: ['allow', allowed],
    },
  );

const listMethods = (methods: ReadonlyMap<string, unknown>): string =>
  [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');

/** The last step of a chain, for a state whose route was found. */
export const runHandler =
  (handlers: Partial<Record<RouteName, Handler>>) =>
  ({ state }: { state: GatewayState }): void | Promise<void> => {
    const handler = handlers[state.route.name as RouteName];
    if (!handler) throw new ApiError('not_found', `${state.route.path} is not available on this deployment.`);
    return handler(state);
  };

/**
 * Answers `HEAD /`, by which some clients, Claude Code among them, open a connection first. Without a key: it tells only that
 * somebody is here, as a 401 would.
 */
export const answerRootProbe = (): GatewayMiddleware => (ctx, next) => {
  const { method, url } = ctx.req;
  if (method !== 'HEAD' || !/^\/(\?|$)/.test(url ?? '')) return next();
  sendEmpty(ctx.state.exchange, 200);
  return Promise.resolve();
};
