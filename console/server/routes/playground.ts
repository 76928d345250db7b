/** The playground: a deployment's own endpoint, called for the user; both ways as a stream. */
import type { IncomingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import type { EndpointAnswer } from '../endpoints/endpoints.ts';
import { ConsoleError } from '../http/error.ts';
import { endWith } from '../http/stream-end.ts';
import { type ApiContext, type ConsoleState, sessionOf } from '../sessions/request-state.ts';
import type { Session } from '../sessions/sessions.ts';
import { describeDeployment } from '../views/deployment.ts';
import type { Services } from './services.ts';

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
      throw new ConsoleError('not_found', `The playground does not support ${ctx.method} /v1/${route}.`);
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

/** What endpoints answer with. Whoever answers for a deployment writes no page of the console's origin. */
const RELAYED_TYPES =
  /^(application\/json|text\/event-stream|image\/(png|jpeg|webp|gif)|video\/(mp4|webm|quicktime))(;|$)/;
const JSON_TYPE = 'application/json';
/** Of an answer that a browser opens all the same. */
const RELAYED_POLICY = "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

function relay(ctx: ApiContext, { statusCode, headers, body }: EndpointAnswer): void {
  const type = String(headers['content-type'] ?? JSON_TYPE)
    .toLowerCase()
    .trim();
  if (body && statusCode !== 204 && !RELAYED_TYPES.test(type)) {
    body.on('error', () => {}).destroy();
    throw new ConsoleError(
      'upstream_error',
      'The endpoint returned something other than JSON, an event stream, an image or a video.',
    );
  }
  ctx.status = statusCode;
  // Of streams, which proxies in between would hold back.
  ctx.set('x-accel-buffering', 'no');
  ctx.body = body;
  ctx.set('content-security-policy', RELAYED_POLICY);
  ctx.set(select(headers, ANSWERED));
  ctx.set('content-type', type);
}

function select(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}
