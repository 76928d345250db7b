/** The console's middleware chain. */
import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from '../../kit/log.ts';
import { routes } from '../routes.ts';
import { answerErrors, identifyRequest } from './error-responses.ts';
import { compactJSON } from './http/compact-json.ts';
import { ConsoleError } from './http/error.ts';
import type { HostSettings, OriginSettings } from './http/request-origin.ts';
import { buildContentPolicy, buildSecurityHeaders } from './http/security-headers.ts';
import { serveErrorPage } from './page/error-page.ts';
import { servePage } from './page/page.ts';
import { addDeliveryRoutes } from './routes/deliveries.ts';
import { addDeploymentRoutes } from './routes/deployments.ts';
import { addHistoryRoutes } from './routes/history.ts';
import { addKeyUsageRoutes } from './routes/key-usage.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addLiveRoutes } from './routes/live.ts';
import { addManifestRoutes } from './routes/manifests.ts';
import { addMemberRoutes } from './routes/members.ts';
import { addOIDCRoutes, showSignInErrors } from './routes/oidc.ts';
import { addPlaygroundRoutes } from './routes/playground.ts';
import { addProblemRoutes } from './routes/problems.ts';
import { addRecentRequestRoutes } from './routes/recent-requests.ts';
import { addReplicaRoutes } from './routes/replicas.ts';
import { addRequestListRoutes } from './routes/request-list.ts';
import { addRequestRoutes } from './routes/requests.ts';
import { addScalingRoutes } from './routes/scaling.ts';
import { serveWith } from './routes/served-route.ts';
import type { Services } from './routes/services.ts';
import { addSessionRoutes } from './routes/session.ts';
import { addSigningSecretRoutes } from './routes/signing-secret.ts';
import { addStorageCredentialRoutes } from './routes/storage-credentials.ts';
import { addUsageRoutes } from './routes/usage.ts';
import { addWebhookRoutes } from './routes/webhooks.ts';
import { type ConsoleState, refuseForgeries, refuseOtherHosts } from './sessions/request-guards.ts';

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
  const router = new Router<ConsoleState>({ sensitive: true });
  const serve = serveWith(router, services.sessions);
  addSessionRoutes(serve, services, documentationURL);
  addOIDCRoutes(serve, router, services, log);
  serve(routes.readAccess, async ({ session, namespace }) => {
    const [rights, isMissing] = await Promise.all([
      services.access.describe(session, namespace),
      services.kubernetes.isNamespaceMissing(session.token, namespace),
    ]);
    return { ...rights, isMissing };
  });
  addDeploymentRoutes(serve, services);
  addManifestRoutes(serve, services);
  addReplicaRoutes(serve, services);
  addHistoryRoutes(serve, services);
  addLiveRoutes(serve, services);
  addKeyRoutes(serve, services);
  addWebhookRoutes(serve, services);
  addDeliveryRoutes(serve, services);
  addSigningSecretRoutes(serve, services);
  addStorageCredentialRoutes(serve, services);
  addRequestListRoutes(serve, services);
  addRecentRequestRoutes(serve, services);
  addRequestRoutes(serve, services);
  addUsageRoutes(serve, services);
  addKeyUsageRoutes(serve, services);
  addScalingRoutes(serve, services);
  addMemberRoutes(serve, services);
  addProblemRoutes(serve, services);
  addPlaygroundRoutes(serve, services);

  const forgeries = refuseForgeries();
  const compact = compactJSON();
  const served = router.routes();
  const methods = router.allowedMethods();
  return async (ctx, next) => {
    if (ctx.path !== '/api' && !ctx.path.startsWith('/api/')) return next();
    ctx.set('cache-control', 'no-store');
    await compact(ctx, () =>
      forgeries(ctx, () => methods(ctx as never, () => served(ctx as never, async () => {}))),
    );
    if (ctx.status === 404 && !ctx.body) throw new ConsoleError('not_found', `${ctx.path} not found.`);
    if (ctx.status === 405 || ctx.status === 501)
      throw new ConsoleError('method_not_allowed', `${ctx.path} allows only ${ctx.response.get('allow')}.`);
  };
}
