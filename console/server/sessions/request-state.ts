/** The state of a request in the middleware chain. */
import type { RouterContext } from '@koa/router';
import type { DefaultContext } from 'koa';
import type { RequestOrigin } from '../http/request-origin.ts';
import type { Session } from './sessions.ts';

export interface ConsoleState {
  requestId: string;
  origin: RequestOrigin;
  /** Behind `requireSession`, and after a sign-in. */
  session?: Session;
}

export type ApiContext = RouterContext<ConsoleState, DefaultContext>;

/** For routes behind `requireSession`. */
export const sessionOf = (ctx: { state: ConsoleState }): Session => ctx.state.session!;
