import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { createHTTPServer } from '../../../kit/http-server.ts';
import { pollUntil } from '../../support/poll.ts';
import { openSocket } from '../../support/raw-client.ts';

const HEAD = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const bytes = (count: number) => chunk('x').repeat(count);

describe('a server of a program', () => {
  let server: Server;
  let listener: RequestListener;
  const requests: IncomingMessage[] = [];
  const sockets: Socket[] = [];

  before(async () => {
    server = createHTTPServer({ methods: [] }, (req, res) => {
      requests.push(req);
      listener(req, res);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => requests.splice(0));
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const open = async () => {
    const socket = await openSocket((server.address() as AddressInfo).port);
    sockets.push(socket);
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    return { socket, read: () => text };
  };
  const collect = (req: IncomingMessage) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece) => pieces.push(piece));
    return pieces;
  };

  it('gives a body of tiny chunks to its reader in few pieces, with nothing missing', async () => {
    let pieces: Buffer[] = [];
    listener = (req, res) => {
      pieces = collect(req);
      req.on('end', () => res.end('read'));
    };
    const { socket, read } = await open();
    const text = Array.from({ length: 60_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join(
      '',
    );
    socket.write(HEAD);
    socket.write([...text].map(chunk).join('') + END);
    await pollUntil(() => read().endsWith('read\r\n0\r\n\r\n') || read().endsWith('read'), 'the answer');
    expect(Buffer.concat(pieces).toString()).to.equal(text);
    expect(pieces.length).to.be.below(100);
  });

  it('serves a client that sends one character after the other', async () => {
    let pieces: Buffer[] = [];
    listener = (req, res) => {
      pieces = collect(req);
      req.on('end', () => res.end('read'));
    };
    const { socket, read } = await open();
    socket.setNoDelay(true).write(HEAD);
    for (const character of 'character by character') {
      socket.write(chunk(character));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.write(END);
    await pollUntil(() => read().includes('read'), 'the answer');
    expect(Buffer.concat(pieces).toString()).to.equal('character by character');
  });

  it('passes long pieces on as they come', async () => {
    let first: Buffer | undefined;
    listener = (req) => void req.once('data', (piece) => (first = piece));
    const { socket } = await open();
    socket.write(HEAD + chunk('y'.repeat(5_000)));
    await pollUntil(() => first !== undefined, 'the first piece');
    expect(first).to.have.length(5_000);
  });

  it('passes the start of a body on to a reader that waits for it, however short', async () => {
    for (const isEarly of [true, false]) {
      let text = '';
      let read = () => {};
      listener = (req) => {
        read = () => void req.on('data', (piece) => (text += piece));
        if (isEarly) read();
      };
      const { socket } = await open();
      const count = requests.length;
      socket.write(HEAD + chunk('a'));
      await pollUntil(() => requests.length > count, 'the request');
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      socket.write(chunk('b'));
      if (!isEarly) read();
      await pollUntil(() => text === 'ab', 'both pieces', 2_000);
      socket.write(chunk('c'));
      await pollUntil(() => text === 'abc', 'the third piece', 2_000);
    }
  });

  it('has a body that nobody reads in few pieces, and stops reading it', async () => {
    listener = () => {};
    const { socket } = await open();
    socket.write(HEAD);
    const piece = bytes(10_000);
    const send = () => {
      while (socket.write(piece));
    };
    socket.on('drain', send);
    send();
    const isFull = (req: IncomingMessage) => req.readableLength >= req.readableHighWaterMark;
    await pollUntil(() => requests.some(isFull), 'a full buffer');
    const { buffer } = (requests[0] as unknown as { _readableState: { buffer: Buffer[] } })._readableState;
    expect(buffer.filter((each) => each !== null).length).to.be.below(64);
    await pollUntil(() => socket.writableLength > 0, 'the socket to be left alone');
    expect(requests[0]!.readableLength).to.be.below(4 * requests[0]!.readableHighWaterMark);
  });

  it('serves the next request behind a body that nobody wanted', async () => {
    listener = (_, res) => res.end('answer');
    const { socket, read } = await open();
    socket.write(HEAD + bytes(50_000) + END);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await pollUntil(() => requests.length === 2, 'the second request');
    await pollUntil(() => read().split('answer').length === 3, 'both answers');
  });

  it('lets others in between where many send tiny chunks', async () => {
    listener = (req, res) => {
      if (req.method === 'GET') return void res.end('other');
      req.resume().on('end', () => res.end('read'));
    };
    const senders = await Promise.all(Array.from({ length: 8 }, open));
    for (const { socket } of senders) socket.write(HEAD + bytes(60_000) + END);
    const other = await open();
    other.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await pollUntil(() => other.read().includes('other'), 'the other answer');
    expect(senders.filter(({ read }) => read() !== '')).to.have.length(0);
    await pollUntil(() => senders.every(({ read }) => read().includes('read')), 'all answers', 30_000);
  });

  it('asks a writer to wait once many short writes are queued, and tells when they are sent', async () => {
    let writes = 0;
    listener = (_, res) => {
      while (res.write('x') && writes < 10_000) writes++;
      res.once('drain', () => res.end('sent'));
    };
    const { socket, read } = await open();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await pollUntil(() => read().includes('sent'), 'the answer');
    expect(writes).to.be.below(64);
  });
});
