/** Answers `HEAD /`, by which some clients, Claude Code among them, open a connection before they know what to ask. */
import { sendEmpty } from './json-answer.ts';
import type { GatewayMiddleware } from './request-id.ts';

/** Without a key: it tells only that somebody is here, as a 401 would. */
export const answerRootProbe = (): GatewayMiddleware => (ctx, next) => {
  const { method, url } = ctx.req;
  if (method !== 'HEAD' || !/^\/(\?|$)/.test(url ?? '')) return next();
  sendEmpty(ctx.state.exchange, 200);
  return Promise.resolve();
};
