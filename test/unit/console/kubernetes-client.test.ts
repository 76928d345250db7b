import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Kubernetes } from '../../../console/server/kubernetes/client.ts';
import { isTooLarge } from '../../../kube/api-error.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';

const MIB = 1024 * 1024;
const PLACE = { plural: 'modeldeployments', namespace: 'team' };
/** A list with one object, in this many bytes. */
const pageOf = (bytes: number) => {
  const [head, tail] = ['{"items":[{"metadata":{"name":"large"},"note":"', '"}]}'];
  return Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(bytes - head.length - tail.length, 'x'),
    Buffer.from(tail),
  ]);
};

/** The size of responses depends on what members store. */
describe('what the console reads from the API server', () => {
  let server: Server;
  let kubernetes: Kubernetes;
  let limits: number[];
  let answer: (response: ServerResponse, name: string) => void;

  beforeEach(async () => {
    limits = [];
    server = createServer((request, response) => {
      const url = new URL(request.url!, 'http://host');
      if (url.searchParams.has('limit')) limits.push(Number(url.searchParams.get('limit')));
      answer(response, url.pathname.split('/').at(-1)!);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    kubernetes = new Kubernetes({ url: `http://127.0.0.1:${port}`, ca: undefined });
  });
  afterEach(async () => {
    await kubernetes.close();
    server.closeAllConnections();
    server.close();
  });
  const list = () => kubernetes.list('token', PLACE, ({ metadata }) => metadata.name);

  it('is asked for in pages of an eighth of the objects where one is larger than 6 MiB', async () => {
    const [tooLarge, largest] = [pageOf(6 * MIB + 1), pageOf(6 * MIB)];
    answer = (response) => response.end(limits.length === 1 ? tooLarge : largest);
    expect(await list()).to.deep.equal(['large']);
    expect(limits).to.deep.equal([500, 62]);
  });

  it('may be larger where it is one object', async () => {
    const [many, one] = [pageOf(6 * MIB + 1), pageOf(16 * MIB)];
    answer = (response) => response.end(limits.at(-1) === 1 ? one : many);
    expect(await list()).to.deep.equal(['large']);
    expect(limits).to.deep.equal([500, 62, 7, 1]);
  });

  it('is no larger than 16 MiB in any case', async () => {
    const tooLarge = pageOf(16 * MIB + 1);
    answer = (response) => response.end(tooLarge);
    expect(isTooLarge(await rejection(kubernetes.get('token', PLACE, 'large')))).to.equal(true);
  });

  it('is in memory three answers at a time', async () => {
    const responses = new Map<string, ServerResponse>();
    answer = (response, name) => {
      response.write('{"metadata":');
      responses.set(name, response);
    };
    const order: string[] = [];
    const calls: Promise<unknown>[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      calls.push(kubernetes.get('token', PLACE, name).then(() => order.push(name)));
      await pollUntil(() => responses.has(name), `the call for ${name}`);
    }
    const finish = (name: string) =>
      new Promise<void>((resolve) => responses.get(name)!.end(`{"name":"${name}"}}`, () => resolve()));
    for (const name of ['d', 'b', 'a', 'c']) await finish(name);
    await Promise.all(calls);
    expect(order.indexOf('d'), order.join()).to.be.above(0);
  });
});
