/** Composes and starts the console. */
import { CONSOLE_ENV } from '../../api/console-environment.ts';
import { channels } from '../../api/redis-keys.ts';
import { createAdminServer, serveMetrics } from '../../kit/admin-server.ts';
import { closeServer, createHTTPServer, type HTTPFault, listen } from '../../kit/http-server.ts';
import { type Logger, openLog } from '../../kit/log.ts';
import { connectRedis, type RedisSettings } from '../../redis/client.ts';
import { subscribe } from '../../redis/subscription.ts';
import { createApp } from './app.ts';
import { Endpoints } from './endpoints/endpoints.ts';
import type { ConsoleEnvironment } from './environment.ts';
import { buildEnvelope, ConsoleError, type ConsoleErrorCode } from './http/error.ts';
import { LargeAnswers } from './http/large-answers.ts';
import { createMetrics } from './http/metrics.ts';
import { takesAnyHost } from './http/request-origin.ts';
import { Access } from './kubernetes/access.ts';
import { Kubernetes } from './kubernetes/client.ts';
import { Namespaces } from './kubernetes/namespaces.ts';
import { OwnSecrets } from './kubernetes/own-secrets.ts';
import { KubernetesStreams } from './kubernetes/streams.ts';
import { followAnnouncements } from './live/announcements.ts';
import { Feeds } from './live/feeds.ts';
import { RedisPresence } from './sessions/redis-presence.ts';
import { Sessions } from './sessions/sessions.ts';
import { TokenRenewal } from './sessions/token-renewal.ts';
import { SignIns } from './sign-in/sign-ins.ts';

export interface RunningConsole {
  port: number;
  metricsPort: number;
  stop(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** Uploads may be slow. */
const REQUEST_TIMEOUT_MS = 600_000;
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'];
const DRAIN_TIMEOUT_MS = 10_000;
const METRICS_REQUEST_TIMEOUT_MS = 10_000;

/** Resolves once it listens, whether or not Redis and the API server are available. */
export async function startConsole(
  env: ConsoleEnvironment,
  log: Logger = openLog({ level: env.logLevel, base: { program: 'console' } }),
): Promise<RunningConsole> {
  const redisSettings: RedisSettings = {
    url: env.redisURL,
    username: env.redisUsername,
    password: env.redisPassword,
    caFile: env.redisCAFile,
    name: 'console',
    role: 'console',
  };
  const connection = connectRedis(redisSettings);
  /** After the first connection it stays ready, so that the page can show that Redis is unavailable. */
  let wasConnected = false;
  connection.onStateChange((state, reason) => {
    wasConnected ||= state === 'up';
    log.info({ state, reason }, 'redis');
  });
  const { redis } = connection;
  const presence = new RedisPresence();
  const kubernetes = new Kubernetes({ url: env.kubernetesURL, ca: env.kubernetesCA });
  const streams = new KubernetesStreams({ url: env.kubernetesURL, ca: env.kubernetesCA });
  const access = new Access(kubernetes);
  const endpoints = new Endpoints({ redis, frontURL: env.frontURL });
  const metrics = createMetrics();
  // Its library is loaded only if needed.
  const issuer = env.oidc && new (await import('./oidc/issuer.ts')).Issuer(env.oidc);
  issuer?.discover().catch(({ message }) => log.warn({ reason: message }, 'OIDC issuer cannot be used yet'));
  const renewal = issuer && new TokenRenewal({ redis, issuer, log });
  const sessions = new Sessions(redis, presence, { renewal });
  const feeds = new Feeds(streams, sessions);
  const namespaces = new Namespaces({ kubernetes, redis, presence, access });
  const subscription = subscribe(connection, [channels.consoleSessions], {
    onMessage: (digest) => sessions.evict(digest),
    onResume: () => void sessions.recheck().catch(() => {}),
  });
  const announcements = followAnnouncements(redisSettings, feeds);
  const services = {
    endpoints,
    metrics,
    largeAnswers: new LargeAnswers(),
    kubernetes,
    streams,
    feeds,
    redis,
    access,
    presence,
    sessions,
    signIns: new SignIns({ kubernetes, sessions, namespaces, metrics }),
    issuer,
    ownSecrets: new OwnSecrets({ kubernetes, tokenPath: env.tokenPath, log }),
    namespaces,
  };
  const settings = { ...env, listensOn: env.host };
  const app = createApp({ services, settings, isReady: () => wasConnected, log });
  const server = createHTTPServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      methods: METHODS,
      refuse: refuseFault,
    },
    app.callback(),
  );
  const port = await listen(server, env.port, env.host);
  const metricsServer = createAdminServer(serveMetrics(metrics), {
    requestTimeoutMs: METRICS_REQUEST_TIMEOUT_MS,
  });
  const metricsPort = await listen(metricsServer, env.metricsPort, env.host);
  log.info({ port, metricsPort }, 'listening');
  if (env.publicURL === null && takesAnyHost(settings))
    log.warn(`${CONSOLE_ENV.publicURL} is not set: any Host header is accepted`);
  return {
    port,
    metricsPort,
    stop: async () => {
      const closed = closeServer(server, DRAIN_TIMEOUT_MS);
      feeds.close();
      await closed;
      await closeServer(metricsServer, DRAIN_TIMEOUT_MS);
      await Promise.all([subscription.close(), announcements.close()]);
      await Promise.all([connection.close(), kubernetes.close(), streams.close(), endpoints.close()]);
      await issuer?.close();
    },
  };
}

const CODES: Record<HTTPFault['status'], ConsoleErrorCode> = {
  400: 'invalid_request_error',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'request_too_large',
  431: 'headers_too_large',
  501: 'method_not_allowed',
  505: 'invalid_request_error',
};

const refuseFault = ({ status, message }: HTTPFault) => ({
  headers: ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store'],
  text: JSON.stringify(buildEnvelope(new ConsoleError(CODES[status], message))),
});
