import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { closeServer, createHTTPServer, listen, readServerPort } from '../../../kit/http-server.ts';
import { pollUntil } from '../../support/poll.ts';

describe('a connection that a proxy opened ahead of requests', () => {
  let server: Server;
  let socket: Socket;
  let received = '';
  let connections: Socket[];
  beforeEach(async () => {
    const options = {
      methods: ['GET'],
      headersTimeout: 40,
      requestTimeout: 50,
      connectionsCheckingInterval: 10,
    };
    server = createHTTPServer(options, (_, res) => res.end('served'));
    const port = await listen(server, 0, '127.0.0.1');
    received = '';
    connections = [];
    server.on('connection', (connection: Socket) => connections.push(connection));
    socket = connect(port, '127.0.0.1').setEncoding('utf8');
    socket.on('data', (text: string) => {
      received += text;
    });
    // Node has found the wait for its first request too long.
    await once(server, 'clientError');
  });
  afterEach(async () => {
    socket.destroy();
    await closeServer(server, 0);
  });

  const receive = async (text: string) => {
    while (!received.includes(text)) await once(socket, 'data');
  };

  it('gets no answer, as a request may be on its way, and serves it', async () => {
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await receive('served');
    expect(received).to.match(/^HTTP\/1\.1 200 /);
  });

  it('has its requests still limited in time', async () => {
    socket.write('GET / HTTP/1.1\r\n');
    await receive('did not arrive in time');
    expect(received).to.match(/^HTTP\/1\.1 408 /);
  });

  it('keeps no server from its end', async () => {
    await closeServer(server, 60_000);
    expect(received).to.equal('');
  });

  it('keeps none from its end either where it has sent what begins no request', async () => {
    socket.write('\r\n');
    await pollUntil(() => connections[0]!.bytesRead > 0, 'the line');
    await closeServer(server, 60_000);
    expect(received).to.equal('');
  });

  it('is served while the server ends, where it was opened just now', async () => {
    const late = connect(readServerPort(server), '127.0.0.1').setEncoding('utf8');
    await once(server, 'connection');
    const closed = closeServer(server, 60_000);
    late.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const [answer] = (await once(late, 'data')) as [string];
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
    await closed;
  });
});

describe('a request with a length that no body has', () => {
  it('is refused as too large, and closes its connection', async () => {
    let served = 0;
    const server = createHTTPServer({ methods: ['POST'] }, (_, res) => {
      served++;
      res.end();
    });
    const socket = connect(await listen(server, 0, '127.0.0.1'), '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9007199254740993\r\n\r\n');
    expect(await text(socket)).to.match(/^HTTP\/1\.1 413 .*connection: close/is);
    expect(served).to.equal(0);
    await closeServer(server, 0);
  });
});
