/** The playground: a deployment's own endpoint, called for the user; both ways as a stream. */
import type { IncomingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import { modelDeployment, modelDeploymentResource } from '../../../contract/model-deployment.ts';
import { describeDeployment } from '../deployment-view.ts';
import type { EndpointAnswer } from '../endpoints.ts';
import { ConsoleError } from '../error.ts';
import type { Services } from '../services.ts';
import type { Session } from '../sessions.ts';
import { type ApiContext, type ConsoleState, sessionOf } from '../state.ts';
import { endWith } from '../stream-end.ts';

const { plural } = modelDeploymentResource;
const POSTS = [
  'chat/completions',
  'completions',
  'embeddings',
  'images/generations',
  'images/edits',
  'videos',
  'videos/generations',
];
const GETS = /^(models|requests\/req_[0-9a-f]{32})$/;
/** All that an endpoint is told of the browser's request; cookies never are. */
const SENT = ['content-type', 'content-length', 'accept'];
const ANSWERED = ['content-type', 'content-length', 'retry-after', 'x-request-id', 'content-disposition'];

export function addPlaygroundRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, endpoints, sessions } = services;

  const isStillAllowed = async (session: Session, namespace: string) =>
    (await sessions.isOpen(session)) && (await access.may(session, namespace, 'usePlayground'));

  const pass = async (ctx: ApiContext) => {
    const { namespace = '', name = '', route = '' } = ctx.params;
    const session = sessionOf(ctx);
    const isPost = ctx.method === 'POST';
    if (isPost ? !POSTS.includes(route) : !GETS.test(route))
      throw new ConsoleError('not_found', `The playground has no ${ctx.method} /v1/${route}.`);
    await access.require(session, namespace, 'usePlayground');
    const deployment = modelDeployment.parse(
      await kubernetes.get(session.token, { plural, namespace }, name),
    );
    const { baseURL, message } = describeDeployment(deployment, null);
    if (baseURL === null) throw new ConsoleError('conflict', message || 'The deployment has no URL yet.');
    const answer = await endpoints.call(session, namespace, {
      method: isPost ? 'POST' : 'GET',
      baseURL,
      path: `${route}${ctx.search}`,
      headers: select(ctx.req.headers, SENT),
      ...(isPost && { body: ctx.req }),
      signal: endWith(ctx.res, () => isStillAllowed(session, namespace)),
    });
    relay(ctx, answer);
  };
  router.post('/deployments/:name/v1/*route', pass);
  router.get('/deployments/:name/v1/*route', pass);
}

function relay(ctx: ApiContext, { statusCode, headers, body }: EndpointAnswer): void {
  ctx.status = statusCode;
  // Of streams, which proxies in between would hold back.
  ctx.set('x-accel-buffering', 'no');
  ctx.body = body;
  ctx.remove('content-type');
  ctx.set(select(headers, ANSWERED));
}

function select(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}
