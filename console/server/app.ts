/** The console's middleware chain. */
import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from '../../kit/log.ts';
import type { AccessView } from '../api.ts';
import { answerErrors, identifyRequest } from './error-responses.ts';
import { namespaceName } from './http/bodies.ts';
import { compactJSON } from './http/compact-json.ts';
import { ConsoleError } from './http/error.ts';
import type { HostSettings, OriginSettings } from './http/request-origin.ts';
import { buildContentPolicy, buildSecurityHeaders } from './http/security-headers.ts';
import { serveErrorPage } from './page/error-page.ts';
import { servePage } from './page/page.ts';
import { addDeliveryRoutes } from './routes/deliveries.ts';
import { addDeploymentRoutes } from './routes/deployments.ts';
import { addKeyUsageRoutes } from './routes/key-usage.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addLiveRoutes } from './routes/live.ts';
import { addManifestRoutes } from './routes/manifests.ts';
import { addMemberRoutes } from './routes/members.ts';
import { addOIDCRoutes, showSignInErrors } from './routes/oidc.ts';
import { addPlaygroundRoutes } from './routes/playground.ts';
import { addProblemRoutes } from './routes/problems.ts';
import { addReplicaRoutes } from './routes/replicas.ts';
import { addRequestListRoutes } from './routes/request-list.ts';
import { addRequestRoutes } from './routes/requests.ts';
import { addScalingRoutes } from './routes/scaling.ts';
import type { Services } from './routes/services.ts';
import { addSessionRoutes } from './routes/session.ts';
import { addSigningSecretRoutes } from './routes/signing-secret.ts';
import { addStorageCredentialRoutes } from './routes/storage-credentials.ts';
import { addUsageRoutes } from './routes/usage.ts';
import { addWebhookRoutes } from './routes/webhooks.ts';
import {
  type ConsoleState,
  refuseForgeries,
  refuseOtherHosts,
  requireSession,
  sessionOf,
} from './sessions/request-guards.ts';

export interface AppOptions {
  services: Services;
  settings: OriginSettings & HostSettings & { webFolder: string; documentationURL: string | null };
  isReady: () => boolean;
  log: Logger;
}

export function createApp({ services, settings, isReady, log }: AppOptions): Koa<ConsoleState> {
  const { sessions } = services;
  const app = new Koa<ConsoleState>();
  // Disconnected clients are not errors; answerErrors handles everything else.
  app.on('error', (error) => log.debug({ err: error }, 'response aborted'));
  // 1. Request ID, origin and access log.
  app.use(identifyRequest(settings, log, services.metrics));
  // 2. Security headers on all responses, including errors.
  app.use(async (ctx, next) => {
    ctx.set(buildSecurityHeaders(ctx.state.origin.isHTTPS));
    ctx.set('content-security-policy', buildContentPolicy({ nonce: null, plainMedia: false }));
    await next();
  });
  // 3. Probes.
  app.use(async (ctx, next) => {
    if (ctx.path === '/healthz') ctx.body = 'ok';
    else if (ctx.path === '/readyz')
      Object.assign(ctx, isReady() ? { body: 'ok' } : { status: 503, body: 'not connected to Redis yet' });
    else await next();
  });
  // 4. Errors become the envelope, or a message on the sign-in page.
  app.use(showSignInErrors());
  app.use(answerErrors(log, sessions));
  // 5. Rejects other host names.
  app.use(refuseOtherHosts(settings));
  // 6. The API: CSRF check, session, routes.
  app.use(serveAPI(services, settings.documentationURL, log));
  // 7. The public page about endpoint errors.
  app.use(serveErrorPage());
  // 8. The page for all other paths; its router handles them.
  app.use(servePage(settings.webFolder, settings));
  return app;
}

function serveAPI(
  services: Services,
  documentationURL: string | null,
  log: Logger,
): Koa.Middleware<ConsoleState> {
  // Paths in another case would be audited as something else.
  const sensitive = true;
  const router = new Router<ConsoleState>({ sensitive });
  addSessionRoutes(router, services, documentationURL);
  addOIDCRoutes(router, services, log);
  const inNamespace = new Router<ConsoleState>({ prefix: '/api/namespaces/:namespace', sensitive });
  inNamespace.use(requireSession(services.sessions), async (ctx, next) => {
    if (!namespaceName.safeParse(ctx.params.namespace).success)
      throw new ConsoleError('not_found', `"${ctx.params.namespace}" is not a valid namespace name.`);
    await next();
  });
  inNamespace.get('/access', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const session = sessionOf(ctx);
    const [rights, isMissing] = await Promise.all([
      services.access.describe(session, namespace),
      services.kubernetes.isNamespaceMissing(session.token, namespace),
    ]);
    ctx.body = { ...rights, isMissing } satisfies AccessView;
  });
  addDeploymentRoutes(inNamespace, services);
  addManifestRoutes(inNamespace, services);
  addReplicaRoutes(inNamespace, services);
  addLiveRoutes(inNamespace, services);
  addKeyRoutes(inNamespace, services);
  addWebhookRoutes(inNamespace, services);
  addDeliveryRoutes(inNamespace, services);
  addSigningSecretRoutes(inNamespace, services);
  addStorageCredentialRoutes(inNamespace, services);
  addRequestListRoutes(inNamespace, services);
  addRequestRoutes(inNamespace, services);
  addUsageRoutes(inNamespace, services);
  addKeyUsageRoutes(inNamespace, services);
  addScalingRoutes(inNamespace, services);
  addMemberRoutes(inNamespace, services);
  addProblemRoutes(inNamespace, services);
  addPlaygroundRoutes(inNamespace, services);
  router.use(inNamespace.routes());

  const forgeries = refuseForgeries();
  const compact = compactJSON();
  const routes = router.routes();
  const methods = router.allowedMethods();
  return async (ctx, next) => {
    if (ctx.path !== '/api' && !ctx.path.startsWith('/api/')) return next();
    ctx.set('cache-control', 'no-store');
    await compact(ctx, () =>
      forgeries(ctx, () => methods(ctx as never, () => routes(ctx as never, async () => {}))),
    );
    if (ctx.status === 404 && !ctx.body) throw new ConsoleError('not_found', `${ctx.path} not found.`);
    if (ctx.status === 405 || ctx.status === 501)
      throw new ConsoleError('method_not_allowed', `${ctx.path} allows only ${ctx.response.get('allow')}.`);
  };
}
