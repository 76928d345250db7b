/** The port for probes, hooks and Prometheus: separate from the clients' port, so that load there fails no probe. */
import type { IncomingMessage, Server } from 'node:http';
import { METRICS_PATH } from '../api/gateway-environment.ts';
import { createHTTPServer } from './http-server.ts';

export interface AdminAnswer {
  status: number;
  body: string;
  contentType?: string;
}

/** By path; any method, since the kubelet's hooks send GET. */
export type AdminRoutes = Record<string, (req: IncomingMessage) => AdminAnswer | Promise<AdminAnswer>>;

export const OK: AdminAnswer = { status: 200, body: 'ok' };
export const unavailable = (reason: string): AdminAnswer => ({ status: 503, body: reason });

/** Whichever is sent, a route answers. */
const METHODS = ['GET', 'HEAD', 'POST'];

export interface AdminServerOptions {
  /** Milliseconds in which a request must have arrived; 0 = any time. */
  requestTimeoutMs?: number;
}

/** Not yet listening. A response may take as long as a drain: there is no timeout. */
export function createAdminServer(
  routes: AdminRoutes,
  { requestTimeoutMs = 0 }: AdminServerOptions = {},
): Server {
  const options = { requestTimeout: requestTimeoutMs, keepAlive: true, methods: METHODS };
  const server = createHTTPServer(options, async (req, res) => {
    const path = req.url?.split('?', 1)[0] ?? '/';
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    const { status, body, contentType } = await answerRoute(route, req);
    res.writeHead(status, { 'content-type': contentType ?? 'text/plain; charset=utf-8' }).end(`${body}\n`);
  });
  server.timeout = 0;
  return server;
}

export interface MetricsSource {
  contentType: string;
  render: () => Promise<string>;
  /** The same in the OpenMetrics format, for clients that accept it. */
  renderOpenMetrics?: () => Promise<string>;
}

const OPEN_METRICS = 'application/openmetrics-text';

/** The route of Prometheus. */
export const serveMetrics = (metrics: MetricsSource): AdminRoutes => ({
  [METRICS_PATH]: async ({ headers }) =>
    metrics.renderOpenMetrics && headers.accept?.includes(OPEN_METRICS)
      ? {
          status: 200,
          body: await metrics.renderOpenMetrics(),
          contentType: `${OPEN_METRICS}; version=1.0.0; charset=utf-8`,
        }
      : { status: 200, body: await metrics.render(), contentType: metrics.contentType },
});

async function answerRoute(
  route: AdminRoutes[string] | undefined,
  req: IncomingMessage,
): Promise<AdminAnswer> {
  if (!route) return { status: 404, body: 'not found' };
  try {
    return await route(req);
  } catch (error) {
    return { status: 500, body: (error as Error).message };
  }
}
