import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { readConnectionFailure } from '../../../kit/connection-error.ts';
import { listen, readServerPort } from '../../../kit/http-server.ts';
import { Http1Client } from '../../../kit/http1-client.ts';
import { KeptBody, toDispatchBody } from '../../../kit/kept-body.ts';
import { pollUntil } from '../../support/poll.ts';

const read = async function* () {
  yield Buffer.from('a ');
  yield Buffer.from('body');
};

describe('a request on a connection that was used before', () => {
  let server: Server;
  let client: Http1Client;
  let resent: number;
  /** Requests that arrived, by how many their connection had before. */
  let arrived: number[];
  /** What happens to a request on a connection that was used before; unused ones are answered. */
  let onReused: (req: IncomingMessage) => void;
  const isUsed = new WeakMap<object, number>();

  const answer: RequestListener = async (req, res) => {
    const before = isUsed.get(req.socket) ?? 0;
    isUsed.set(req.socket, before + 1);
    arrived.push(before);
    if (before > 0) onReused(req);
    else res.end(`${req.method} ${await text(req)}`);
  };
  beforeEach(async () => {
    resent = 0;
    arrived = [];
    onReused = (req) => req.socket.destroy();
    server = createServer(answer);
    await listen(server, 0, '127.0.0.1');
    client = new Http1Client(`http://127.0.0.1:${readServerPort(server)}`, { onResend: () => resent++ });
    await ask();
    await becomeIdle(1);
  });
  const becomeIdle = (count: number) => pollUntil(() => client.stats.idle === count, 'idle connections');
  afterEach(async () => {
    await client.destroy();
    server.closeAllConnections();
    server.close();
  });

  async function ask(body?: Buffer | KeptBody | Readable): Promise<string> {
    const response = await client.request({
      path: '/',
      method: body ? 'POST' : 'GET',
      ...(body && { body: body instanceof Readable ? body : toDispatchBody(body) }),
    });
    return response.body.text();
  }
  const fail = (body?: Buffer | Readable): Promise<Error> =>
    ask(body).then(
      (text) => expect.fail(`answered ${text}`),
      (error: Error) => error,
    );

  for (const { what, body } of [
    { what: 'without a body', body: undefined },
    { what: 'with a body in memory', body: Buffer.from('a body') },
    { what: 'with a body that can be read again', body: new KeptBody(read) },
  ])
    it(`is sent once more, on a fresh one, if it is closed before any byte of an answer: ${what}`, async () => {
      expect(await ask(body)).to.equal(body ? 'POST a body' : 'GET ');
      expect(arrived).to.deep.equal([0, 1, 0]);
      expect(resent).to.equal(1);
    });

  it('is sent to a fresh connection also where others are idle', async () => {
    onReused = (req) => req.socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    await Promise.all([ask(), ask(), ask()]);
    await becomeIdle(3);
    onReused = (req) => req.socket.destroy();
    arrived.length = 0;
    const answers = await Promise.all([1, 2, 3].map(() => ask(Buffer.from('a body'))));
    expect(answers).to.deep.equal(['POST a body', 'POST a body', 'POST a body']);
    expect(arrived.filter((before) => before === 0)).to.have.length(3);
  });

  it('is not sent again if its body was streamed', async () => {
    expect(readConnectionFailure(await fail(Readable.from(read())))).to.equal('lost');
    expect(arrived).to.deep.equal([0, 1]);
    expect(resent).to.equal(0);
  });

  for (const bytes of ['H', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'])
    it(`is not sent again after ${JSON.stringify(bytes)}`, async () => {
      onReused = ({ socket }) => socket.write(bytes, () => socket.destroy());
      await fail(Buffer.from('a body'));
      expect(arrived).to.deep.equal([0, 1]);
      expect(resent).to.equal(0);
    });

  it('fails with how it broke if the server is gone by then', async () => {
    onReused = ({ socket }) => {
      server.close();
      socket.destroy();
    };
    expect(readConnectionFailure(await fail(Buffer.from('a body')))).to.equal('lost');
    expect(resent).to.equal(1);
  });

  it('is not sent a third time', async () => {
    server.off('request', answer);
    server.on('request', (req) => {
      arrived.push(isUsed.get(req.socket) ?? 0);
      req.socket.destroy();
    });
    expect(readConnectionFailure(await fail(Buffer.from('a body')))).to.equal('lost');
    expect(arrived).to.deep.equal([0, 1, 0]);
  });
});
