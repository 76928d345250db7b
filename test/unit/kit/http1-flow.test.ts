import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { readConnectionFailure } from '../../../kit/connection-error.ts';
import { Http1Client } from '../../../kit/http1-client.ts';
import { KeptBody, toDispatchBody } from '../../../kit/kept-body.ts';
import { pollUntil } from '../../support/poll.ts';

const COUNTED = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';
const MIB = 1024 * 1024;
/** The kernel's buffers of a loopback connection hold less. */
const LARGE_MIB = 64;

describe('the flow of bytes of a client of HTTP/1.1', () => {
  let server: Server;
  let client: Http1Client;
  let origin: string;
  let connections: Socket[];
  let answer: (socket: Socket, request: string) => void;

  beforeEach(async () => {
    connections = [];
    server = createServer((socket) => {
      connections.push(socket);
      socket.on('error', () => {}).on('data', (data) => answer(socket, data.toString('latin1')));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = new Http1Client(origin);
  });
  afterEach(async () => {
    await client.destroy();
    for (const socket of connections) socket.destroy();
    server.close();
  });

  /** `sent`: how many pieces of a MiB were taken from it. */
  function openUpload(pieces: number): { body: KeptBody; sent: () => number } {
    let sent = 0;
    const read = async function* () {
      for (; sent < pieces; sent++) yield Buffer.alloc(MIB);
    };
    return { body: new KeptBody(read), sent: () => sent };
  }
  const post = (body: KeptBody | Buffer, options: object = {}) =>
    client.request({ path: '/', method: 'POST', body: toDispatchBody(body), ...options });
  const fail = (asked: Promise<unknown>): Promise<NodeJS.ErrnoException> =>
    asked.then(
      () => expect.fail('answered'),
      (error: Error) => error,
    );

  it('reads a large answer no faster than its reader', async () => {
    let taken = 0;
    answer = async (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${LARGE_MIB * MIB}\r\n\r\n`);
      for (; taken < LARGE_MIB; taken++) if (!socket.write(Buffer.alloc(MIB))) await once(socket, 'drain');
    };
    const { body } = await client.request({ path: '/', method: 'GET' });
    await setTimeout(300);
    expect(taken).to.be.below(LARGE_MIB / 2);
    let bytes = 0;
    for await (const piece of body) bytes += piece.length;
    expect(bytes).to.equal(LARGE_MIB * MIB);
    await pollUntil(() => client.stats.idle === 1, 'the connection to be kept');
  });

  it('sends a large upload no faster than the server takes it', async () => {
    answer = (socket) => socket.pause();
    const { body, sent } = openUpload(LARGE_MIB);
    const asked = post(body);
    await pollUntil(() => sent() > 1, 'the upload to begin');
    await setTimeout(300);
    expect(sent()).to.be.below(LARGE_MIB / 2);
    let bytes = 0;
    connections[0]!.on('data', (data) => {
      bytes += data.length;
      if (data.toString('latin1').endsWith('0\r\n\r\n')) connections[0]!.write(COUNTED);
    });
    answer = () => {};
    connections[0]!.resume();
    expect(await (await asked).body.text()).to.equal('hi');
    expect(bytes).to.be.above((LARGE_MIB - 1) * MIB);
  });

  it('reads an answer that comes before the upload is sent, and sends no more of it', async () => {
    answer = (socket) => socket.pause().write(COUNTED);
    const { body, sent } = openUpload(LARGE_MIB);
    expect(await (await post(body)).body.text()).to.equal('hi');
    await pollUntil(() => client.stats.open === 0, 'the connection to be closed');
    await setTimeout(50);
    expect(sent()).to.be.below(LARGE_MIB / 2);
  });

  it('fails where the body ends before or after its length', async () => {
    answer = () => {};
    for (const length of [MIB - 1, 3 * MIB]) {
      const { body } = openUpload(2);
      const error = await fail(post(body, { headers: { 'content-length': String(length) } }));
      expect(error.code).to.equal('UND_ERR_REQ_CONTENT_LENGTH_MISMATCH');
    }
    expect(client.stats.open).to.equal(0);
  });

  it('fails with the error of a body that cannot be read', async () => {
    answer = () => {};
    const read = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from('a');
      throw new Error('no such file');
    };
    expect((await fail(post(new KeptBody(read)))).message).to.equal('no such file');
    expect(client.stats.open).to.equal(0);
  });

  for (const [what, options, reply, code] of [
    ['no answer comes', { headersTimeout: 100 }, '', 'UND_ERR_HEADERS_TIMEOUT'],
    ['the head does not end', { headersTimeout: 100 }, 'HTTP/1.1 200 OK\r\n', 'UND_ERR_HEADERS_TIMEOUT'],
    ['the body stops', { bodyTimeout: 100 }, COUNTED.slice(0, -1), 'UND_ERR_BODY_TIMEOUT'],
  ] as const)
    it(`gives up where ${what}`, async () => {
      answer = (socket) => socket.write(reply);
      const asked = post(Buffer.from('a'), options).then(({ body }) => body.text());
      expect((await fail(asked)).code).to.equal(code);
      expect(client.stats.open).to.equal(0);
    });

  it('gives up where the server takes no more of an upload', async () => {
    answer = (socket) => socket.pause();
    const error = await fail(post(openUpload(LARGE_MIB).body, { headersTimeout: 100 }));
    expect(error.code).to.equal('UND_ERR_HEADERS_TIMEOUT');
  });

  it('counts no time of a body that its reader waits with, nor between its pieces', async () => {
    answer = async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n');
      for (let piece = 0; piece < 6; piece++) {
        socket.write('x');
        await setTimeout(60);
      }
    };
    let text = '';
    await new Promise<void>((resolve, reject) =>
      client.dispatch(
        { path: '/', method: 'GET', bodyTimeout: 200 },
        {
          onResponseData: (controller, piece) => {
            text += piece;
            if (text.length > 1) return;
            controller.pause();
            void setTimeout(400).then(() => controller.resume());
          },
          onResponseEnd: () => resolve(),
          onResponseError: (_, error) => reject(error),
        },
      ),
    );
    expect(text).to.equal('xxxxxx');
  });

  it('gives up where no connection comes about in time', async () => {
    // The kernel drops connections that a stopped process does not accept.
    const listener = spawn(process.execPath, [
      '-e',
      "require('net').createServer().listen(0, '127.0.0.1', 1, function () { console.log(this.address().port) })",
    ]);
    const [port] = await once(listener.stdout, 'data');
    listener.kill('SIGSTOP');
    const stopped = new Http1Client(`http://127.0.0.1:${Number(port)}`, { connectTimeoutMs: 300 });
    try {
      const ask = () => fail(stopped.request({ path: '/', method: 'GET', headersTimeout: 600 }));
      const errors = await Promise.all(Array.from({ length: 6 }, ask));
      expect(errors.map(readConnectionFailure)).to.include('connect_timeout');
      expect(stopped.stats.open).to.equal(0);
    } finally {
      await stopped.destroy();
      listener.kill('SIGKILL');
    }
  });

  it('fails where nobody listens', async () => {
    await new Promise((resolve) => server.close(resolve));
    expect(readConnectionFailure(await fail(post(Buffer.from('a'))))).to.equal('refused');
    expect(client.stats.open).to.equal(0);
  });

  for (const [when, reply] of [
    ['while it connects', null],
    ['before an answer', ''],
    ['within a head', 'HTTP/1.1 200 OK\r\n'],
    ['within a body', COUNTED.slice(0, -1)],
  ] as const)
    it(`frees the connection of a request that is aborted ${when}`, async () => {
      const aborting = new AbortController();
      const { signal } = aborting;
      let hasArrived = false;
      answer = (socket) => {
        hasArrived = true;
        socket.write(reply ?? '');
      };
      const asked = client.request({ path: '/', method: 'GET', signal }).then(({ body }) => body.text());
      if (reply !== null) await pollUntil(() => hasArrived, 'the request');
      if (reply) await setTimeout(30);
      aborting.abort();
      expect((await fail(asked)).name).to.equal('AbortError');
      expect(client.stats.open).to.equal(0);
      await pollUntil(() => connections.every(({ closed }) => closed), 'closed connections');
    });

  it('stops an upload that is aborted', async () => {
    answer = (socket) => socket.pause();
    const aborting = new AbortController();
    const { body, sent } = openUpload(LARGE_MIB);
    const asked = post(body, { signal: aborting.signal });
    await pollUntil(() => sent() > 1, 'the upload to begin');
    aborting.abort();
    expect((await fail(asked)).name).to.equal('AbortError');
    await setTimeout(50);
    expect(sent()).to.be.below(LARGE_MIB);
    expect(client.stats.open).to.equal(0);
  });

  it('needs no more connections than requests at a time, and closes those that stay idle', async () => {
    answer = (socket) => socket.write(COUNTED.replace('content', 'keep-alive: timeout=3\r\ncontent'));
    for (let round = 0; round < 20; round++)
      await Promise.all([1, 2, 3].map(async () => (await post(Buffer.from('a'))).body.text()));
    expect(connections).to.have.length(3);
    expect(client.stats).to.deep.equal({ open: 3, idle: 3 });
    await pollUntil(() => client.stats.open === 0, 'idle connections to be closed');
    await pollUntil(() => connections.every(({ closed }) => closed), 'closed connections');
  });

  it('fails what is in flight and what follows once it is destroyed', async () => {
    answer = (socket, request) => request.startsWith('GET') && socket.write(COUNTED);
    await (await client.request({ path: '/', method: 'GET' })).body.text();
    const asked = fail(post(Buffer.from('a')));
    await setTimeout(30);
    await client.destroy();
    expect(readConnectionFailure(await asked)).to.equal('closed');
    expect(readConnectionFailure(await fail(post(Buffer.from('a'))))).to.equal('closed');
    expect(client.stats).to.deep.equal({ open: 0, idle: 0 });
    await pollUntil(() => connections.every(({ closed }) => closed), 'closed connections');
  });
});
