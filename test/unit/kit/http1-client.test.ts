import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import type { Dispatcher, Pool } from 'undici';
import { Http1Client } from '../../../kit/http1-client.ts';
import { joinAnswers } from '../../../kit/joined-answers.ts';
import { pollUntil } from '../../support/poll.ts';
import { openUndici } from '../../support/undici-pool.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const COUNTED = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';

describe('a client of HTTP/1.1', () => {
  let server: Server;
  let answer: (socket: Socket, request: string) => void;
  let client: Http1Client;
  let undici: Pool;
  let origin: string;
  let connections: Socket[];

  beforeEach(async () => {
    connections = [];
    server = createServer((socket) => {
      connections.push(socket);
      socket.on('error', () => {}).on('data', (data) => answer(socket, data.toString('latin1')));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = new Http1Client(origin);
    undici = openUndici(origin);
  });
  afterEach(async () => {
    await Promise.all([client.destroy(), undici.destroy()]);
    for (const socket of connections) socket.destroy();
    server.close();
  });

  const read = async (by: Dispatcher, method: Dispatcher.HttpMethod = 'POST') => {
    const body = method === 'POST' ? Buffer.from('{"a":"é"}') : null;
    const response = await by.request({ path: '/v1?a=b', method, body, headers: { 'x-a': 'b' } });
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text, trailers: response.trailers };
  };

  for (const [what, wire, method] of [
    ['a counted body', COUNTED],
    ['chunks and trailers', `${CHUNKED}${chunk('hello')}0\r\nx-end: yes\r\n\r\n`],
    ['a body until the end', 'HTTP/1.0 200 OK\r\n\r\nhello'],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['HEAD', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', 'HEAD'],
    ['fields that repeat', `HTTP/1.1 429 Full\r\nA: b\r\na: c\r\ncontent-length: 0\r\n\r\n`],
  ] as const)
    it(`sends and reads what undici does: ${what}`, async () => {
      const requests: string[] = [];
      answer = (socket, request) => {
        requests.push(request);
        if (wire.includes('1.0')) socket.end(wire, 'latin1');
        else socket.write(wire, 'latin1');
      };
      const expected = await read(undici, method);
      expect(await read(client, method)).to.deep.equal(expected);
      const sort = (request: string) => request.toLowerCase().split('\r\n').sort();
      expect(sort(requests[1]!)).to.deep.equal(sort(requests[0]!));
    });

  it('uses a connection again after a reader that had paused at its last piece', async () => {
    answer = (socket) => socket.write(COUNTED);
    for (let call = 0; call < 3; call++)
      await new Promise<void>((resolve, reject) => {
        client.dispatch(
          { path: '/', method: 'GET' },
          {
            onResponseData: (controller) => {
              controller.pause();
              setTimeout(() => controller.resume(), 5);
            },
            onResponseEnd: (controller) => {
              controller.pause();
              resolve();
            },
            onResponseError: (_, error) => reject(error),
          },
        );
      });
    expect(connections).to.have.length(1);
  });

  for (const [what, wire] of [
    ['says that it closes', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi'],
    ['sends more than its answer', `${COUNTED}HTTP/1.1 200 OK\r\n`],
    [
      'keeps connections for a second',
      'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nhi',
    ],
  ] as const)
    it(`uses no connection again where the engine ${what}`, async () => {
      answer = (socket) => socket.write(wire);
      for (let call = 0; call < 2; call++) expect((await read(client)).text).to.equal('hi');
      expect(connections).to.have.length(2);
    });

  it('uses no connection again that brought bytes while it was idle', async () => {
    answer = (socket) => socket.write(COUNTED);
    await read(client);
    connections[0]!.write(COUNTED);
    await pollUntil(() => client.stats.idle === 0, 'the connection to be dropped');
    expect((await read(client)).text).to.equal('hi');
    expect(connections).to.have.length(2);
  });

  it('gives pieces that keep no more memory than their own', async () => {
    answer = (socket) => socket.write(`${CHUNKED}${chunk('x')}0\r\n\r\n`);
    const pieces: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      client.dispatch(
        { path: '/', method: 'GET' },
        {
          onResponseData: (_, piece) => void pieces.push(piece),
          onResponseEnd: () => resolve(),
          onResponseError: (_, error) => reject(error),
        },
      );
    });
    const kept = pieces[0]!.buffer.byteLength;
    expect(kept).to.be.lessThan(200);
  });

  it('has a connection that was made while the process stood still', async () => {
    const hasty = new Http1Client(origin, { connectTimeoutMs: 100 });
    answer = (socket) => socket.write(COUNTED);
    const reading = read(hasty);
    setImmediate(() => {
      for (const end = performance.now() + 300; performance.now() < end; );
    });
    expect((await reading).text).to.equal('hi');
    await hasty.destroy();
  });

  it('reads all of an answer in tiny pieces for a reader that pauses', async () => {
    const total = 200_000;
    answer = (socket) => socket.write(`${CHUNKED}${chunk('x').repeat(total)}0\r\n\r\n`);
    for (const by of [client, client.compose(joinAnswers)]) {
      let bytes = 0;
      await new Promise<void>((resolve, reject) => {
        by.dispatch(
          { path: '/', method: 'GET' },
          {
            onResponseData: (controller, piece) => {
              bytes += piece.length;
              if (bytes % 1_000 !== 0) return;
              controller.pause();
              setImmediate(() => controller.resume());
            },
            onResponseEnd: () => resolve(),
            onResponseError: (_, error) => reject(error),
          },
        );
      });
      expect(bytes).to.equal(total);
    }
  });

  it('reports an error of the reader to the reader, at each step', async () => {
    answer = (socket) => socket.write(COUNTED);
    for (const step of ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd']) {
      const error = await new Promise<Error>((resolve) =>
        client.dispatch(
          { path: '/', method: 'GET' },
          {
            onRequestStart: () => {},
            onResponseError: (_, failed) => resolve(failed),
            [step]: () => {
              throw new Error(step);
            },
          },
        ),
      );
      expect(error.message).to.equal(step);
    }
  });

  for (const [what, options] of [
    ['header that would begin another', { headers: { a: 'b\r\nc: d' } }],
    ['path that would end its line', { path: '/ HTTP/1.1\r\nx: y' }],
    ['header that only the client decides', { headers: { 'transfer-encoding': 'chunked' } }],
    ['wait for 100 Continue', { headers: { expect: '100-continue' } }],
  ] as const)
    it(`sends no ${what}`, async () => {
      const asked = client.request({ path: '/', method: 'GET', ...options });
      expect(await asked.catch((error) => error.code)).to.equal('UND_ERR_INVALID_ARG');
      expect(connections).to.have.length(0);
    });
});
