import type { RequestListener, Server } from 'node:http';
import { mock } from 'node:test';
import { expect } from 'chai';
import { request } from 'undici';
import { createAdminServer } from '../../../kit/admin-server.ts';
import { createHTTPServer, listen } from '../../../kit/http-server.ts';
import { awaitPieceTurn, MAX_PIECES_PER_TURN } from '../../../kit/piece-turns.ts';
import { KeptConnection } from '../../support/kept-connection.ts';

const MIB = 1024 * 1024;
const HEAD = 'Host: x\r\nConnection: keep-alive\r\n';

describe('an answer before the end of the body', () => {
  let server: Server;
  let connection: KeptConnection;
  afterEach(() => {
    mock.timers.reset();
    connection?.end();
    server.closeAllConnections();
    server.close();
  });

  const serve = async (listener: RequestListener) => {
    server = createHTTPServer({ methods: ['POST'] }, listener);
    connection = await KeptConnection.open(await listen(server, 0, '127.0.0.1'));
  };
  const refuse: RequestListener = (_, res) => void res.writeHead(401, { 'content-length': 0 }).end();

  it('leaves the connection open, even if the body was being read', async () => {
    const readers: RequestListener[] = [
      () => {},
      (req) => void req.on('data', () => {}).pause(),
      (req) => void req.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]().next(),
      (req) => void req.on('readable', () => req.read(1)),
    ];
    for (const read of readers) {
      await serve((req, res) => {
        read(req, res);
        refuse(req, res);
      });
      await connection.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: ${MIB}\r\n\r\nx`);
      expect((await connection.read())?.status).to.equal(401);
      await connection.write('x'.repeat(MIB - 1));
      await connection.write(`GET / HTTP/1.1\r\n${HEAD}\r\n`);
      expect((await connection.read())?.status).to.equal(401);
      connection.end();
      server.close();
    }
  });

  it('reaches a client whose body could not be sent on', async () => {
    await serve(async (req, res) => {
      await request('http://127.0.0.1:9/', { method: 'POST', body: req }).catch(() => {});
      res.writeHead(502, { 'content-length': 0 }).end();
    });
    for (let count = 0; count < 2; count++) {
      await connection.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: 2\r\n\r\n{}`);
      expect(await connection.read()).to.include({ status: 502 });
    }
    await connection.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: ${MIB}\r\n\r\n{`);
    const answer = await connection.read();
    expect([answer?.status, answer?.headers.connection]).to.deep.equal([502, 'close']);
    expect(await connection.closes(10_000)).to.equal(true);
  });

  it('closes the connection after 64 MiB of the rest', async () => {
    await serve(refuse);
    await connection.write(`POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    expect((await connection.read())?.headers.connection).to.equal('keep-alive');
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB), Buffer.from('\r\n')]);
    let written = 0;
    while (!connection.isClosed && written < 100) {
      await connection.write(chunk);
      written++;
    }
    expect(written).to.be.within(64, 80);
  });

  it('closes the connection after 64 MiB also where the body began in tiny pieces', async () => {
    await serve((req, res) => {
      // It is answered while it waits for its turn.
      for (let others = 0; others < 1_000; others++) awaitPieceTurn(() => {});
      setImmediate(() => refuse(req, res));
    });
    const pieces = '1\r\nx\r\n'.repeat(2 * MAX_PIECES_PER_TURN);
    await connection.write(`POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n${pieces}`);
    expect((await connection.read())?.status).to.equal(401);
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB), Buffer.from('\r\n')]);
    let written = 0;
    while (!connection.isClosed && written < 100) {
      await connection.write(chunk);
      written++;
    }
    expect(written).to.be.within(64, 80);
  });

  it('closes the connection after 30 s', async () => {
    await serve(refuse);
    await connection.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\n`);
    mock.timers.enable({ apis: ['setTimeout'] });
    await connection.write('x');
    let isRead = false;
    void connection.read({ withinMs: 60_000 }).then(() => {
      isRead = true;
    });
    await pollUntilRealTime(() => isRead);
    mock.timers.tick(29_000);
    expect(connection.isClosed).to.equal(false);
    mock.timers.tick(2_000);
    await pollUntilRealTime(() => connection.isClosed);
  });

  it('announces the end of the connection where the rest is too long, or slow, or may be left out', async () => {
    const cases: [number, string][] = [
      [401, `Content-Length: ${65 * MIB}`],
      [413, 'Transfer-Encoding: chunked'],
      [408, 'Content-Length: 10'],
      [401, 'Content-Length: 10\r\nExpect: 100-continue'],
    ];
    for (const [status, fields] of cases) {
      server = createHTTPServer({ methods: [], isContinuedByListener: true }, (_, res) =>
        res.writeHead(status, { 'content-length': 0 }).end(),
      );
      connection = await KeptConnection.open(await listen(server, 0, '127.0.0.1'));
      await connection.write(`POST / HTTP/1.1\r\n${HEAD}${fields}\r\n\r\n`);
      const answer = await connection.read();
      expect([fields, answer?.status, answer?.headers.connection]).to.deep.equal([fields, status, 'close']);
      expect(await connection.closes(1_000)).to.equal(true);
      connection.end();
      server.close();
    }
  });

  it('is read by a client that writes all of its body first, though the connection ends', async () => {
    await serve((req, res) => {
      res.shouldKeepAlive = false;
      refuse(req, res);
    });
    connection.pause();
    await connection.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: ${20 * MIB}\r\n\r\n`);
    await connection.write(Buffer.alloc(20 * MIB));
    connection.resume();
    expect((await connection.read())?.status).to.equal(401);
    expect(await connection.closes(1_000)).to.equal(true);
  });

  it('leaves the connection of a probe open', async () => {
    server = createAdminServer({});
    connection = await KeptConnection.open(await listen(server, 0, '127.0.0.1'));
    await connection.write(`POST /x HTTP/1.1\r\n${HEAD}Content-Length: 100\r\n\r\nx`);
    expect((await connection.read())?.status).to.equal(404);
    await connection.write(`${'x'.repeat(99)}GET /x HTTP/1.1\r\n${HEAD}\r\n`);
    expect((await connection.read())?.status).to.equal(404);
  });
});

/** While `setTimeout` is mocked. */
async function pollUntilRealTime(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000_000 && !isTrue(); turn++)
    await new Promise((resolve) => setImmediate(resolve));
  expect(isTrue()).to.equal(true);
}
