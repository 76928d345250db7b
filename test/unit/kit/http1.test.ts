import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { Pool } from 'undici';
import { connectHTTP1, HTTP1_ONLY } from '../../../kit/http1.ts';
import { joinAnswers } from '../../../kit/joined-answers.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
/** The socket holds at most three reads, each of up to 64 KiB. */
const MAX_HELD_BYTES = 256 * 1024;

describe('a connection of undici', () => {
  let server: Server;
  let answer: (socket: Socket) => void;
  let pool: Pool;
  let socket: Socket;

  before(async () => {
    server = createServer((accepted) => {
      accepted.on('error', () => {}).on('data', () => answer(accepted));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());
  beforeEach(() => {
    const connect = connectHTTP1({});
    pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      ...HTTP1_ONLY,
      connect: (target, callback) =>
        connect(target, (...[error, connected]) => {
          if (!connected) return callback(error!, null);
          socket = connected;
          callback(null, connected);
        }),
    });
  });
  afterEach(() => pool.destroy());

  /** Resolves with the body, and with the most bytes that were read of `wire` by the time it was passed on this far. */
  const read = (wire: string, bodyBytes: number, { pauses }: { pauses: boolean }) => {
    const dispatcher = pauses ? pool : pool.compose(joinAnswers);
    const ratio = wire.length / bodyBytes;
    let body = '';
    let held = 0;
    return new Promise<{ body: string; held: number }>((resolve, reject) => {
      dispatcher.dispatch(
        { path: '/', method: 'GET' },
        {
          onRequestStart: () => {},
          onResponseStart: () => {},
          onResponseData: (controller, piece) => {
            body += piece;
            held = Math.max(held, socket.bytesRead - HEAD.length - body.length * ratio);
            if (!pauses) return;
            controller.pause();
            setImmediate(() => controller.resume());
          },
          onResponseEnd: () => resolve({ body, held }),
          onResponseError: (_, error) => reject(error),
        },
      );
    });
  };

  it('reads no more than a little ahead of a reader that pauses at each small chunk', async () => {
    const texts = Array.from({ length: 500 }, (_, index) => String(index % 10).repeat(4_000));
    const wire = texts.map(chunk).join('');
    answer = (accepted) => accepted.write(HEAD + wire + END);
    const { body, held } = await read(wire, 500 * 4_000, { pauses: true });
    expect(body === texts.join('')).to.equal(true);
    expect(held).to.be.below(MAX_HELD_BYTES);
  });

  it('reads no more than a little ahead of an answer in tiny pieces', async () => {
    const wire = chunk('x').repeat(200_000);
    answer = (accepted) => accepted.write(HEAD + wire + END);
    const { body, held } = await read(wire, 200_000, { pauses: false });
    expect(body === 'x'.repeat(200_000)).to.equal(true);
    expect(held).to.be.below(MAX_HELD_BYTES);
  });

  it('passes on all of an answer that the server has closed behind', async () => {
    const texts = Array.from({ length: 100 }, (_, index) => String(index % 10).repeat(400));
    answer = (accepted) => accepted.end(HEAD + texts.map(chunk).join('') + END);
    const { body } = await read(texts.map(chunk).join(''), 100 * 400, { pauses: true });
    expect(body === texts.join('')).to.equal(true);
  });

  it('serves one answer after the other', async () => {
    const wire = chunk('x').repeat(20_000);
    answer = (accepted) => accepted.write(HEAD + wire + END);
    for (let call = 0; call < 3; call++) {
      const { body } = await read(wire, 20_000, { pauses: false });
      expect(body).to.have.length(20_000);
    }
    await pool.close();
  });
});
