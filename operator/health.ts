/** The operator's HTTP: /healthz, /readyz and /metrics on one port. */
import { createServer, type Server, type ServerResponse } from 'node:http';

export interface HealthSources {
  /** Why the process should be restarted; undefined while it is well. */
  ailment: () => string | undefined;
  /** Whether its view of the cluster is complete. */
  isReady: () => boolean;
  metrics: { contentType: string; read: () => Promise<string> };
}

export function createHealthServer({ ailment, isReady, metrics }: HealthSources): Server {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/healthz') return answer(response, ailment() === undefined ? 200 : 500, ailment() ?? 'ok');
    if (path === '/readyz')
      return answer(response, isReady() ? 200 : 503, isReady() ? 'ok' : 'caches are filling');
    if (path !== '/metrics') return answer(response, 404, 'not found');
    metrics.read().then(
      (text) => answer(response, 200, text, metrics.contentType),
      (error: Error) => answer(response, 500, error.message),
    );
  });
  server.requestTimeout = 10_000;
  return server;
}

function answer(
  response: ServerResponse,
  code: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(code, { 'content-type': type });
  response.end(`${text}\n`);
}
