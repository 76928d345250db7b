/** Gives every request its id and its Exchange. */
import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import { Exchange } from './exchange.ts';
import type { Route } from './route-table.ts';

export interface GatewayState {
  exchange: Exchange;
  route: Route;
  /** Of the path, decoded. */
  parameter: string;
  /** SHA-256 of the API key. */
  keyHash: string;
  /** Of the API key, higher first; 0 where absent. */
  priority?: number;
  /** Whose share of the process's memory and disk the request takes; its key's where absent. */
  tenant?: string;
}
/** Answers a request, or throws ApiError. */
export type Handler = (state: GatewayState) => void | Promise<void>;
export type GatewayMiddleware = Middleware<GatewayState>;

/** What logs and headers take as it is. */
const VALID_REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** Takes the caller's `x-request-id` if it is sane, else makes one; every answer carries it. */
export const identifyRequest = (): GatewayMiddleware => (ctx, next) => {
  const given = ctx.req.headers['x-request-id'];
  const requestId = typeof given === 'string' && VALID_REQUEST_ID.test(given) ? given : randomUUID();
  ctx.state.exchange = new Exchange(ctx.req, ctx.res, requestId);
  // Answers are written to the response itself; Koa only composes.
  ctx.respond = false;
  return next();
};
