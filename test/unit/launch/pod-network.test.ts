import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { PodNetwork } from '../../../launch/local-node/pod-network.ts';
import { findFreePort } from '../../support/child-program.ts';

describe('the ports of a pod of make run', () => {
  let other: Server;
  let port: number;

  /** Taken by another program on this machine. */
  beforeEach(async () => {
    other = createServer();
    port = await findFreePort(['0.0.0.0']);
    other.listen(port, '0.0.0.0');
    await once(other, 'listening');
  });
  afterEach(() => other.close());

  it('are those of a cluster, but for one that another program has on all addresses', async () => {
    const network = new PodNetwork({ mode: 'addresses', basePort: 20_000 });
    const free = await findFreePort(['0.0.0.0']);
    const pod = await network.attach('one', [port, free]);
    expect(pod.ip).to.match(/^127\./);
    expect(pod.port(free)).to.equal(free);
    expect(pod.port(port)).not.to.equal(port);
    const server = createServer().listen(pod.port(port), pod.ip);
    await once(server, 'listening');
    server.close();
  });
});
