import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { MemoryApi } from '../../../kube/memory/memory-api.ts';
import { EndpointPorts } from '../../../launch/local-node/endpoint-ports.ts';
import { readLocalTypes } from '../../../launch/local-resources.ts';
import { pickPort } from '../../support/child-program.ts';
import { pollUntil } from '../../support/poll.ts';

const HOST = '127.0.0.1';

describe('the ports of deployments in make run', () => {
  let ports: EndpointPorts;
  let firstPort: number;
  let errors: string[];
  const named = (name: string) => ({ namespace: 'default', name });

  beforeEach(() => {
    firstPort = 100 * pickPort(100, 100);
    errors = [];
    ports = new EndpointPorts({
      api: new MemoryApi({ types: readLocalTypes() }),
      node: { addressOf: () => undefined },
      host: HOST,
      frontPort: 1,
      firstPort,
      count: 2,
      onError: ({ message }) => errors.push(message),
    });
  });
  afterEach(() => ports.close());

  it('are free again when the deployment is gone', () => {
    for (const name of ['one', 'two']) ports.open(named(name));
    ports.free(named('one'));
    ports.open(named('three'));
    expect(['one', 'two', 'three'].map((name) => ports.portOf(named(name)))).to.deep.equal([
      undefined,
      firstPort + 1,
      firstPort,
    ]);
    expect(errors).to.deep.equal([]);
  });

  it('are missed by the one that comes too late, in words', () => {
    for (const name of ['one', 'two', 'three']) ports.open(named(name));
    expect(ports.portOf(named('three'))).to.equal(undefined);
    expect(errors).to.deep.equal(['no port left for default/three: make run serves at most 2 deployments']);
  });

  it('are never those of another program', async () => {
    const other: Server = createServer().listen(firstPort, HOST);
    await once(other, 'listening');
    try {
      ports.open(named('one'));
      await pollUntil(() => ports.portOf(named('one')) === firstPort + 1, 'the next port', 5_000);
      expect(errors).to.deep.equal([]);
    } finally {
      other.close();
    }
  });
});
