/** The playground: relays calls to a deployment's endpoint, streaming both ways (decision 0097). */

import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import { REQUEST_ID } from '../../../api/request.ts';
import { PLAYGROUND_PATH, playgroundRoutes } from '../../routes.ts';
import type { EndpointAnswer } from '../endpoints/endpoints.ts';
import { ConsoleError } from '../http/error.ts';
import type { ApiContext } from '../sessions/request-guards.ts';
import { endWithSession } from '../sessions/session-stream.ts';
import { describeDeployment } from '../views/deployment.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;
/** Request headers that are forwarded; never cookies. */
const FORWARDED_HEADERS = ['content-type', 'content-length', 'accept'];
const RELAYED_HEADERS = [
  'content-type',
  'content-length',
  'retry-after',
  'x-request-id',
  'content-disposition',
];

export function addPlaygroundRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, endpoints, sessions } = services;

  for (const route of Object.values(playgroundRoutes))
    serve(route, async ({ ctx, session, namespace, name, id = '' }) => {
      if (route === playgroundRoutes.readRequest && !REQUEST_ID.test(id))
        throw new ConsoleError('not_found', `${ctx.path} not found.`);
      await access.require(session, namespace, 'usePlayground');
      const deployment = modelDeployment.parse(
        await kubernetes.get(session.token, { plural, namespace }, name),
      );
      const { baseURL, message } = describeDeployment(deployment);
      if (baseURL === null) throw new ConsoleError('conflict', message || 'The deployment has no URL yet.');
      const isPost = route.method === 'POST';
      const answer = await endpoints.call(session, namespace, {
        method: isPost ? 'POST' : 'GET',
        baseURL,
        path: `${route.path.slice(PLAYGROUND_PATH.length).replace(':id', id)}${ctx.search}`,
        headers: select(ctx.req.headers, FORWARDED_HEADERS),
        ...(isPost && { body: ctx.req }),
        signal: endWithSession(ctx, sessions, () => access.may(session, namespace, 'usePlayground')),
      });
      return relay(ctx, answer);
    });
}

/** Content types of endpoints. Deployments must not be able to serve pages on the console's origin. */
const RELAYED_TYPES =
  /^(application\/json|text\/event-stream|image\/(png|jpeg|webp|gif)|video\/(mp4|webm|quicktime)|audio\/(mpeg|ogg|aac|flac|wav|pcm))(;|$)/;
const JSON_TYPE = 'application/json';
/** In case a browser opens a response directly. */
const RELAYED_POLICY = "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

function relay(ctx: ApiContext, { statusCode, headers, body }: EndpointAnswer): Readable {
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
  ctx.set('content-security-policy', RELAYED_POLICY);
  ctx.set(select(headers, RELAYED_HEADERS));
  ctx.set('content-type', type);
  return body;
}

function select(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}
