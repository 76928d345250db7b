import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { createHTTPServer, listen } from '../../../kit/http-server.ts';
import { MAX_PIECES_PER_TURN } from '../../../kit/piece-turns.ts';
import { KeptConnection } from '../../support/kept-connection.ts';

const PIECES = '1\r\nx\r\n'.repeat(20 * MAX_PIECES_PER_TURN);
const HEAD = 'Host: x\r\n';
const TINY = `POST /tiny HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n${PIECES}0\r\n\r\n`;

describe('a server while one of its clients sends tiny pieces', () => {
  let server: Server;
  let port: number;
  const connections: KeptConnection[] = [];
  /** By target, in order of their ends. */
  const bodies: [target: string, bytes: number][] = [];

  beforeEach(async () => {
    bodies.length = 0;
    server = createHTTPServer({ methods: ['GET', 'POST'] }, (req, res) => {
      let bytes = 0;
      req.on('data', (data: Buffer) => {
        bytes += data.length;
      });
      req.on('end', () => {
        bodies.push([req.url!, bytes]);
        res.end(String(bytes));
      });
    });
    port = await listen(server, 0, '127.0.0.1');
  });
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.end();
    server.closeAllConnections();
    server.close();
  });
  const open = async () => {
    const connection = await KeptConnection.open(port);
    connections.push(connection);
    return connection;
  };
  const post = (target: string, bytes: number) =>
    `POST ${target} HTTP/1.1\r\n${HEAD}Content-Length: ${bytes}\r\n\r\n${'y'.repeat(bytes)}`;

  it('serves connections that were open before, and new ones, with bodies of any length and in order', async () => {
    const early = await open();
    await early.write(post('/before', 3));
    expect((await early.read())?.status).to.equal(200);
    const hostile = await open();
    await hostile.write(TINY);
    const late = await open();
    for (const connection of [early, late]) {
      await connection.write(post('/small', 3) + post('/large', 300_000) + post('/last', 5_000));
      for (const bytes of ['3', '300000', '5000']) expect((await connection.read())?.body).to.equal(bytes);
    }
    expect((await hostile.read({ withinMs: 10_000 }))?.body).to.equal(String(20 * MAX_PIECES_PER_TURN));
    await hostile.write(TINY + post('/after', 7));
    expect((await hostile.read({ withinMs: 10_000 }))?.body).to.equal(String(20 * MAX_PIECES_PER_TURN));
    expect((await hostile.read())?.body).to.equal('7');
  });

  it('parses no whole read of several hostile connections before it serves others', async () => {
    const first = await open();
    await first.write(TINY);
    await first.read({ withinMs: 10_000 });
    bodies.length = 0;
    const hostile = await Promise.all(Array.from({ length: 20 }, open));
    const other = await open();
    for (const connection of hostile) void connection.write(TINY);
    await other.write(post('/other', 3));
    expect((await other.read())?.body).to.equal('3');
    expect(bodies).to.deep.equal([['/other', 3]]);
  });

  it('answers a client that has ended its side behind its pieces', async () => {
    const first = await open();
    await first.write(TINY);
    const { port: own } = server.address() as AddressInfo;
    const socket = connect({ port: own, host: '127.0.0.1', allowHalfOpen: true });
    socket.end(TINY.replace(HEAD, `${HEAD}Connection: close\r\n`));
    expect(await text(socket)).to.match(
      new RegExp(`^HTTP/1.1 200 .*\r\n\r\n${20 * MAX_PIECES_PER_TURN}$`, 's'),
    );
  });

  it('still refuses what is no valid request', async () => {
    const first = await open();
    await first.write(TINY);
    const broken = await open();
    await broken.write(`${post('/fine', 30_000)}NONSENSE\r\n\r\n`);
    expect((await broken.read())?.status).to.equal(200);
    expect((await broken.read())?.status).to.equal(400);
  });
});
