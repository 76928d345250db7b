import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import { EngineHealth, type EngineHealthTiming } from '../../../../gateway/admin/engine-health.ts';
import { closeServer, listen, readServerPort } from '../../../../gateway/shutdown.ts';
import { until } from '../../../support/redis-client.ts';

const TIMING: EngineHealthTiming = { failingMs: 5, healthyMs: 20, timeoutMs: 50, deadMs: 400 };

describe('the engine’s health', () => {
  let status: number | 'hang';
  let server: Server;
  let health: EngineHealth;
  let port = 0;
  const reasons: string[] = [];

  const startEngine = async () => {
    server = createServer((_, res) => {
      if (status !== 'hang') res.writeHead(status).end();
    });
    await listen(server, port, '127.0.0.1');
    port = readServerPort(server);
  };
  beforeEach(async () => {
    status = 503;
    port = 0;
    reasons.length = 0;
    await startEngine();
    health = new EngineHealth({
      engineURL: `http://127.0.0.1:${port}`,
      path: '/health',
      timing: TIMING,
      onChange: (_, reason) => reasons.push(reason),
    });
  });
  afterEach(async () => {
    health.stop();
    server.closeAllConnections();
    await closeServer(server, 0);
  });

  it('follows an engine that starts, fails and recovers', async () => {
    await new Promise((resolve) => server.once('request', resolve));
    expect(health.isHealthy).to.equal(false);
    status = 200;
    await until(() => health.isHealthy, 'healthy');
    status = 500;
    await until(() => !health.isHealthy, 'unhealthy');
    expect(reasons.at(-1)).to.match(/answers 500/);
    status = 200;
    await until(() => health.isHealthy, 'healthy again');
  });

  it('notices an engine that hangs', async () => {
    status = 200;
    await until(() => health.isHealthy, 'healthy');
    status = 'hang';
    await until(() => !health.isHealthy, 'unhealthy');
    expect(reasons.at(-1)).to.match(/takes over 50 ms/);
    expect(health.isAlive).to.equal(true);
    await until(() => !health.isAlive, 'dead after its time');
  });

  it('notices a refused connection at once when told to look', async () => {
    status = 200;
    await until(() => health.isHealthy, 'healthy');
    server.closeAllConnections();
    await closeServer(server, 0);
    health.suspect();
    await until(() => !health.isHealthy, 'unhealthy');
    expect(reasons.at(-1)).to.equal('ECONNREFUSED');
    await startEngine();
    await until(() => health.isHealthy, 'healthy again');
    expect(health.isAlive).to.equal(true);
  });
});
