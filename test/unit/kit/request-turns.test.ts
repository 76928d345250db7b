import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createHTTPServer, listen } from '../../../kit/http-server.ts';
import { KeptConnection } from '../../support/kept-connection.ts';
import { pollUntil } from '../../support/poll.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const CHUNKED = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n';

describe('several requests on one connection', () => {
  let server: Server;
  let connection: KeptConnection;
  let answers: ServerResponse[];

  const serve = async (answer: RequestListener = () => {}) => {
    answers = [];
    server = createHTTPServer({ methods: [] }, (req, res) => {
      answers.push(res);
      answer(req, res);
    });
    connection = await KeptConnection.open(await listen(server, 0, '127.0.0.1'));
  };
  afterEach(() => {
    connection.end();
    server.closeAllConnections();
    server.close();
  });
  const end = (index: number, status = 200) =>
    answers[index]!.writeHead(status, { 'content-length': 1 }).end(String(index));
  const begun = (count: number) => pollUntil(() => answers.length === count, `request ${count} to begin`);

  it('are served one after the other, in their order', async () => {
    await serve();
    await connection.write(GET.repeat(3));
    for (let index = 0; index < 3; index++) {
      await begun(index + 1);
      await new Promise((resolve) => setImmediate(resolve));
      expect(answers).to.have.length(index + 1);
      end(index);
      expect((await connection.read())?.body).to.equal(String(index));
    }
  });

  it('are not begun behind an answer that closes the connection', async () => {
    await serve();
    await connection.write(GET.repeat(2));
    await begun(1);
    answers[0]!.shouldKeepAlive = false;
    end(0);
    expect((await connection.read())?.headers.connection).to.equal('close');
    expect(await connection.closes(5_000)).to.equal(true);
    expect(answers).to.have.length(1);
  });

  it('are not begun once their client has left', async () => {
    await serve();
    await connection.write(GET.repeat(2));
    await begun(1);
    connection.end();
    await once(answers[0]!, 'close');
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(answers).to.have.length(1);
  });

  it('are dropped with their connection where more arrive than clients send', async () => {
    await serve();
    await connection.write(GET.repeat(64));
    await begun(1);
    expect(await connection.closes(100)).to.equal(false);
    await connection.write(GET.repeat(10));
    expect(await connection.closes(5_000)).to.equal(true);
    expect(answers).to.have.length(1);
  });

  it('are all served where they are many and answered at once', async () => {
    await serve((_, res) => res.end('answer'));
    await connection.write(GET.repeat(50));
    for (let index = 0; index < 50; index++) expect((await connection.read())?.body).to.equal('answer');
  });

  it('are answered before a refusal, also if a body of the last one is malformed', async () => {
    await serve();
    await connection.write(GET + CHUNKED);
    await begun(1);
    await Promise.all([once(server, 'clientError'), connection.write('no size\r\n')]);
    end(0);
    expect((await connection.read())?.body).to.equal('0');
    expect((await connection.read())?.status).to.equal(400);
    expect(await connection.closes(5_000)).to.equal(true);
    expect(answers).to.have.length(1);
  });

  it('get one answer each, though the rest of a body is malformed or left out', async () => {
    for (const finish of [() => connection.write('no size\r\n'), () => connection.endWriting()]) {
      await serve();
      await connection.write(CHUNKED);
      await begun(1);
      end(0, 401);
      expect((await connection.read())?.status).to.equal(401);
      await finish();
      expect(await connection.read()).to.equal(null);
      server.close();
    }
  });
});
