/** Finds the route: an unknown path is 404, a known one with another method 405. */
import type { ModelKind } from '../../contract/model-deployment.ts';
import { ApiError } from '../error-response.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { GatewayMiddleware } from './request-id.ts';

const LONGEST_SHOWN = 200;

/** `kind`, where it is known, tells what a wrong path could have been. */
export const findRoute =
  (table: RouteTable, kind?: () => ModelKind): GatewayMiddleware =>
  (ctx, next) => {
    const { req, state } = ctx;
    if (req.httpVersion === '1.1' && req.headers.host === undefined)
      throw new ApiError('invalid_request_error', 'The Host header is missing.');
    const path = readPath(req.url ?? '/');
    const match = table.match(path);
    if (!match) throw refusePath(path, kind && table.listFor(kind()));
    const route = match.methods.get(req.method!);
    if (!route) throw refuseMethod(path, req.method!, [...match.methods.keys()].join(', '));
    state.route = route;
    state.parameter = match.parameter;
    return next();
  };

function refusePath(path: string, served?: string): ApiError {
  const hint = served ? `; this deployment serves ${served}` : '';
  return new ApiError('not_found', `There is no ${path.slice(0, LONGEST_SHOWN)} here${hint}.`);
}

const refuseMethod = (path: string, method: string, allowed: string) =>
  new ApiError('method_not_allowed', `${path.slice(0, LONGEST_SHOWN)} takes ${allowed}, not ${method}.`, {
    headers: ['allow', allowed],
  });

/** The path without query; proxies may also send a whole URL. */
function readPath(url: string): string {
  if (!url.startsWith('/')) return URL.parse(url)?.pathname ?? url;
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
