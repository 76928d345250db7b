/** Which requests share a connection by HTTP/2, and what an aborted one leaves on it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';
import { Connection } from '../../../kube/connection.ts';
import { pollUntil } from '../../support/poll.ts';
import { rejection } from '../../support/redis-client.ts';
import { makeCertificates } from '../../support/test-certificates.ts';

describe('the connections to the API server', () => {
  const { ca, cert, key } = makeCertificates('DNS:localhost');
  let server: Http2SecureServer;
  let versions: string[];
  let connection: Connection;

  beforeEach(async () => {
    versions = [];
    server = createSecureServer({ cert, key, allowHTTP1: true }, ({ httpVersion, url }, answer) => {
      versions.push(httpVersion);
      if (url !== '/held') answer.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await connection.close();
    server.close();
  });
  const open = (proxyUrl?: string) => {
    const config = new KubeConfig();
    const { port } = server.address() as AddressInfo;
    const cluster = {
      name: 'c',
      server: `https://localhost:${port}`,
      caData: btoa(ca),
      skipTLSVerify: false,
    };
    config.loadFromClusterAndUser(proxyUrl ? { ...cluster, proxyUrl } : cluster, { name: 'u' });
    connection = new Connection(config, 1);
  };
  const send = (path: string, stream: boolean, signal = AbortSignal.timeout(30_000)) =>
    connection.send({ method: 'GET', path, headers: {}, stream, signal });
  const read = async (stream: boolean) => (await send('/', stream)).body.text();

  it('are shared by watches, and not by calls', async () => {
    open();
    await read(true);
    await read(false);
    expect(versions).to.deep.equal(['2.0', '1.1']);
  });

  it('are shared likewise behind a proxy', async () => {
    const proxy = await startProxy();
    open(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    await read(true);
    await read(false);
    expect(versions).to.deep.equal(['2.0', '1.1']);
    proxy.close();
  });

  it('forget a watch that is aborted while it is sent', async () => {
    open();
    await read(true);
    const held = once(server, 'stream') as Promise<[ServerHttp2Stream]>;
    const aborted = new AbortController();
    // In the same turn of the event loop, when Node has written the request and not yet taken note of it.
    const onCreated = () => queueMicrotask(() => aborted.abort(new Error('aborted')));
    subscribe('http2.client.stream.created', onCreated);
    const error = await rejection(send('/held', true, aborted.signal)).finally(() =>
      unsubscribe('http2.client.stream.created', onCreated),
    );
    expect(error).to.include({ message: 'aborted' });
    const [stream] = await held;
    await pollUntil(() => stream.destroyed, 'the reset of the watch', 10_000);
  });
});

/** Tunnels to what is asked for. */
async function startProxy(): Promise<Server> {
  const proxy = createServer();
  proxy.on('connect', ({ url }, client: Socket) => {
    const target = new URL(`http://${url}`);
    const upstream = connect(Number(target.port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    for (const socket of [client, upstream]) socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return proxy;
}
