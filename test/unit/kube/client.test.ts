import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';
import { isTooLarge } from '../../../kube/api-error.ts';
import { createKubeClient, type KubeClient } from '../../../kube/client.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { rejection } from '../../support/redis-client.ts';

const MIB = 1024 * 1024;
const EVENT = RESOURCES.Event;

describe('how much of an answer of the API server is read', () => {
  let server: Server;
  let client: KubeClient;
  let bytes = 0;
  before(async () => {
    server = createServer((req, res) => {
      const object = { metadata: { name: 'a', resourceVersion: '1' }, note: '' };
      const url = new URL(req.url!, 'http://localhost');
      const isList = !/\/a$/.test(url.pathname);
      const answer = (note: string) => {
        const full = { ...object, note };
        if (url.searchParams.has('watch')) return `${JSON.stringify({ type: 'ADDED', object: full })}\n`;
        return JSON.stringify(isList ? { metadata: { resourceVersion: '1' }, items: [full] } : full);
      };
      res.setHeader('content-type', 'application/json');
      res.end(answer('x'.repeat(bytes - answer('').length)));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const config = new KubeConfig();
    const { port } = server.address() as AddressInfo;
    const cluster = { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: 'u' });
    client = createKubeClient({ config });
  });
  after(async () => {
    await client.close();
    server.close();
  });

  const at = { namespace: 'one', name: 'a' };
  const reads: Record<string, () => Promise<unknown>> = {
    'a page of a list': () => client.list(EVENT, { namespace: 'one', limit: 250 }),
    'a list in one piece': () => client.list(EVENT, { namespace: 'one' }),
    'a page with one object': () => client.list(EVENT, { namespace: 'one', limit: 1 }),
    'one object': () => client.get(EVENT, at),
    'an event of a watch': async () => {
      const { signal } = new AbortController();
      for await (const _ of client.watch(EVENT, { resourceVersion: '1', timeoutSeconds: 1, signal })) return;
    },
  };
  for (const [what, mebibytes] of [
    ['a page of a list', 6],
    ['a list in one piece', 6],
    ['a page with one object', 16],
    ['one object', 16],
    ['an event of a watch', 16],
  ] as const)
    it(`is ${mebibytes} MiB of ${what}`, async () => {
      // The line feed after an event is not counted.
      bytes = mebibytes * MIB;
      await reads[what]!();
      bytes = mebibytes * MIB + 2;
      expect(isTooLarge(await rejection(reads[what]!()))).to.equal(true);
    });
});
