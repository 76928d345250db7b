/** Finds the route, and refuses what this deployment does not serve, now or ever. */

import type { IncomingMessage } from 'node:http';
import type { ModelKind } from '../../api/engine-presets.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { ApiError } from './error-response.ts';
import type { GatewayMiddleware, GatewayState, Handler } from './exchange.ts';
import { sendEmpty } from './json-answer.ts';
import { readPath } from './request-path.ts';
import { isSpoken, type RouteName, type RouteTable, type ServedModel } from './routes.ts';
import { findShutdown } from './unavailability.ts';

const MAX_SHOWN_CHARACTERS = 200;

/** `model`, if known, helps to guess what a wrong path was meant to be. */
export const findRoute =
  (table: RouteTable, model?: () => ServedModel): GatewayMiddleware =>
  (ctx, next) => {
    const { req, state } = ctx;
    const match = table.match(state.exchange.routePath);
    if (!match) throw refusePath(readPath(req.url ?? '/'), model && table.listFor(model()));
    // Node sends no body in response to HEAD.
    const route = match.methods.get(req.method === 'HEAD' ? 'GET' : req.method!);
    if (!route && isWebSocket(req)) throw refuseWebSocket(readPath(req.url ?? '/'));
    if (!route) throw refuseMethod(readPath(req.url ?? '/'), req.method!, listMethods(match.methods));
    state.route = route;
    state.parameter = match.parameter;
    return next();
  };

/** Codex tries a WebSocket first. At 426 it goes on with HTTP at once, at 405 after several attempts. */
const isWebSocket = ({ headers }: IncomingMessage): boolean => /^websocket$/i.test(headers.upgrade ?? '');

const refuseWebSocket = (path: string) =>
  new ApiError(
    'websocket_not_supported',
    `${path.slice(0, MAX_SHOWN_CHARACTERS)} has no WebSocket: send a POST request, with \`stream: true\` for events.`,
    { headers: ['upgrade', 'HTTP/1.1'] },
  );

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

/** The last middleware, for a state whose route was found. */
export const runHandler =
  (handlers: Partial<Record<RouteName, Handler>>) =>
  ({ state }: { state: GatewayState }): void | Promise<void> => {
    const handler = handlers[state.route.name as RouteName];
    if (!handler) throw new ApiError('not_found', `${state.route.path} is not available on this deployment.`);
    return handler(state);
  };

/** With which Claude Code opens a connection. */
const PROBED = /^\/(api\/hello)?(\?|$)/;

/** Responds to `HEAD` of clients' probes. Needs no key: it shows only that something is listening, as a 401 would. */
export const answerProbes = (): GatewayMiddleware => (ctx, next) => {
  const { method, url } = ctx.req;
  if (method !== 'HEAD' || !PROBED.test(url ?? '')) return next();
  sendEmpty(ctx.state.exchange, 200);
  return Promise.resolve();
};

/** For load balancers and clients without a key, which learn nothing else. */
export const answerHealth =
  <S extends GatewayState>(isServing: (state: S) => boolean): GatewayMiddleware<S> =>
  ({ state }, next) => {
    if (state.route.name !== 'health') return next();
    sendEmpty(state.exchange, isServing(state) ? 200 : 503);
    return Promise.resolve();
  };

/** Refuses what this deployment does not serve, now or ever. */
export const requireAvailability =
  (table: RouteTable, config: () => GatewayConfig): GatewayMiddleware =>
  (ctx, next) => {
    const { route } = ctx.state;
    const current = config();
    const { kind, modelId } = current;
    // Until another version is asked.
    if (current.traffic !== undefined) ctx.state.exchange.nameVersion(current.name);
    if (route.kinds !== null && !route.kinds.includes(kind))
      throw new ApiError(
        'wrong_modality',
        `${modelId} is ${KIND_LABELS[kind]}; ${route.path} needs ${route.kinds.map((each) => KIND_LABELS[each]).join(' or ')}. ` +
          `This deployment serves ${table.listFor(current)}.`,
      );
    if (!isSpoken(route, current))
      throw new ApiError(
        'not_found',
        `The engine of this deployment (${current.enginePreset}) does not serve ${route.path}; this deployment serves ${table.listFor(current)}.`,
      );
    const shutdown = route.served === 'always' ? null : findShutdown(current);
    if (shutdown) throw shutdown;
    return next();
  };

const KIND_LABELS: Record<ModelKind, string> = {
  LLM: 'a language model',
  Embedding: 'an embedding model',
  Rerank: 'a reranking model',
  Transcription: 'a transcription model',
  Speech: 'a speech model',
  Image: 'an image model',
  Video: 'a video model',
};
