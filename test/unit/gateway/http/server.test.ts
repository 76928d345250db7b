import { Agent, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Activity } from '../../../../gateway/http/activity.ts';
import { createServer } from '../../../../gateway/http/server.ts';

const LIMITS = { headersTimeoutMs: 5_000, bodyTimeoutMs: 5_000, uploadTimeoutMs: 5_000 };

describe('a kept-alive connection', () => {
  let server: Server;
  let agent: Agent;
  const activity = new Activity();
  const start = async (connectionMaxAgeMs?: number) => {
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
    server = createServer(
      (_, res) => {
        activity.track(res);
        res.end('{}');
      },
      () => LIMITS,
      { connectionMaxAgeMs },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  };
  afterEach(() => {
    agent.destroy();
    server.close();
  });

  const ask = () =>
    new Promise<string | undefined>((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const read = (response: IncomingMessage) =>
        response.resume().on('end', () => resolve(response.headers.connection));
      get({ host: '127.0.0.1', port, agent }, read).on('error', reject);
    });

  it('is kept while it is young', async () => {
    await start();
    expect([await ask(), await ask()]).to.deep.equal(['keep-alive', 'keep-alive']);
  });

  it('ends with an answer once it is old, so that a proxy that connects to the Service rebalances its load', async () => {
    await start(0);
    expect([await ask(), await ask()]).to.deep.equal(['close', 'close']);
  });

  it('ends with the next answer while the engine is lost, and is kept once it is back', async () => {
    await start();
    activity.setClosing(true);
    expect(await ask()).to.equal('close');
    activity.setClosing(false);
    expect(await ask()).to.equal('keep-alive');
  });
});
