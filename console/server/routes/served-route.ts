/** Serves the routes of `console/routes.ts`. */
import type { Readable } from 'node:stream';
import type Router from '@koa/router';
import { bodies, namespaceName } from '../../bodies.ts';
import type { AnswerOf, ParamsOf, ParsedBodyOf, Route } from '../../routes.ts';
import { readBody } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import { type ApiContext, type ConsoleState, requireSession } from '../sessions/request-guards.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** With the parameters of the path. */
export type Call<R extends Route> = ParamsOf<R> & {
  ctx: ApiContext;
  /** Only of routes that are not public. */
  session: Session;
  /** To be called when the caller may send it. Throws ConsoleError with the field in `param`. */
  readBody: () => Promise<ParsedBodyOf<R>>;
};

/** `answer`: returns what is sent as JSON, or a stream; nothing for 204. */
export type ServeRoute = <R extends Route>(
  route: R,
  answer: (call: Call<NoInfer<R>>) => Promise<AnswerOf<NoInfer<R>> | Readable>,
) => void;

export const serveWith =
  (router: Router<ConsoleState>, sessions: Sessions): ServeRoute =>
  (route, answer) =>
    router.register(route.path, [route.method], async (ctx) => {
      if (!route.isPublic) await requireSession(ctx, sessions);
      const { namespace } = ctx.params;
      if (namespace !== undefined && !namespaceName.safeParse(namespace).success)
        throw new ConsoleError('not_found', `"${namespace}" is not a valid namespace name.`);
      const answered = await answer({
        ...ctx.params,
        ctx,
        session: ctx.state.session!,
        readBody: () => readBody(ctx.req, bodies[route.body!]),
      } as never);
      if (answered === undefined) ctx.status = 204;
      else ctx.body = answered;
    });
