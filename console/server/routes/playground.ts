/** The playground: relays calls to a deployment's endpoint, streaming both ways (decision 0097). */

import type { IncomingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import type { EndpointAnswer } from '../endpoints/endpoints.ts';
import { ConsoleError } from '../http/error.ts';
import { type ApiContext, type ConsoleState, sessionOf } from '../sessions/request-guards.ts';
import { endWithSession } from '../sessions/session-stream.ts';
import { describeDeployment } from '../views/deployment.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;
const POSTS = [
  'chat/completions',
  'completions',
  'embeddings',
  'rerank',
  'images/generations',
  'images/edits',
  'videos',
  'videos/generations',
  'audio/transcriptions',
  'audio/speech',
];
const GETS = /^(models|requests\/req_[0-9a-f]{32})$/;
/** Request headers that are forwarded; never cookies. */
const FORWARDED_HEADERS = ['content-type', 'content-length', 'accept'];
const RELAYED_HEADERS = [
  'content-type',
  'content-length',
  'retry-after',
  'x-request-id',
  'content-disposition',
];

export function addPlaygroundRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, endpoints, sessions } = services;

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
    const { baseURL, message } = describeDeployment(deployment);
    if (baseURL === null) throw new ConsoleError('conflict', message || 'The deployment has no URL yet.');
    const answer = await endpoints.call(session, namespace, {
      method: isPost ? 'POST' : 'GET',
      baseURL,
      path: `${route}${ctx.search}`,
      headers: select(ctx.req.headers, FORWARDED_HEADERS),
      ...(isPost && { body: ctx.req }),
      signal: endWithSession(ctx, sessions, () => access.may(session, namespace, 'usePlayground')),
    });
    relay(ctx, answer);
  };
  router.post('/deployments/:name/v1/*route', pass);
  router.get('/deployments/:name/v1/*route', pass);
}

/** Content types of endpoints. Deployments must not be able to serve pages on the console's origin. */
const RELAYED_TYPES =
  /^(application\/json|text\/event-stream|image\/(png|jpeg|webp|gif)|video\/(mp4|webm|quicktime)|audio\/(mpeg|ogg|aac|flac|wav|pcm))(;|$)/;
const JSON_TYPE = 'application/json';
/** In case a browser opens a response directly. */
const RELAYED_POLICY = "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

function relay(ctx: ApiContext, { statusCode, headers, body }: EndpointAnswer): void {
  const type = String(headers['content-type'] ?? JSON_TYPE)
    .toLowerCase()
    .trim();
  if (body && statusCode !== 204 && !RELAYED_TYPES.test(type)) {
    body.on('error', () => {}).destroy();
    throw new ConsoleError(
      'upstream_error',
      'The endpoint returned something other than JSON, an event stream, an image, a video or audio.',
    );
  }
  ctx.status = statusCode;
  // Prevents proxies from buffering streams.
  ctx.set('x-accel-buffering', 'no');
  ctx.body = body;
  ctx.set('content-security-policy', RELAYED_POLICY);
  ctx.set(select(headers, RELAYED_HEADERS));
  ctx.set('content-type', type);
}

function select(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}
