/** Berth with traces, and their receiver. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { benchConfig, buildSidecar, ENGINE_URL, PORTS, type System } from '../systems.ts';
import { TRACED_RATIO } from './tracing.ts';

export const describeTraced = (): System => ({
  name: 'berth, traced',
  findPort: () => PORTS.peer,
  buildCommand: () =>
    buildSidecar(benchConfig(), ENGINE_URL, {
      env: {
        [GATEWAY_ENV.httpPort]: String(PORTS.peer),
        [GATEWAY_ENV.adminPort]: String(PORTS.peerAdmin),
        [GATEWAY_ENV.metricsPort]: String(PORTS.peerMetrics),
        [GATEWAY_ENV.podName]: 'bench-1',
        [GATEWAY_ENV.tracingEndpoint]: `http://127.0.0.1:${PORTS.receiver}`,
        [GATEWAY_ENV.tracingRatio]: String(TRACED_RATIO),
      },
    }),
});

/** Receives spans; the returned function ends it. */
export async function startTraceSink(): Promise<() => void> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(PORTS.receiver, '127.0.0.1');
  await once(server, 'listening');
  return () => {
    server.closeAllConnections();
    server.close();
  };
}
