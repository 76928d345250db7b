/** A client, or a server, whose bodies come in chunks of one byte: a program of its own, so that the test can time others meanwhile. */
import { connect, createServer, type Socket } from 'node:net';
import { type ChildProgram, startProgram } from './child-program.ts';

interface ClientOrder {
  role: 'client';
  host: string;
  port: number;
  connections: number;
  /** Request line and headers. */
  head: string;
  /** Around the bytes. */
  first: string;
  last: string;
  /** By each connection, in chunks of one byte; none: `head` only. */
  bytes: number;
  /** Between two connections. */
  everyMs: number;
  /** Whether answers are read. */
  reads: boolean;
}

interface ServerOrder {
  role: 'server';
  host: string;
  port: number;
  status: string;
  /** First piece of the body of each answer. */
  first: string;
  bytes: number;
}

const THIS = 'test/support/tiny-pieces.ts';
const CHUNK = '1\r\nx\r\n';
const BATCH = Buffer.from(CHUNK.repeat(10_000));
const chunk = (text: string) => (text === '' ? '' : `${text.length.toString(16)}\r\n${text}\r\n`);

/** Writes `sent` once each connection has sent all, or was closed. */
export const startTinyClient = (order: Omit<ClientOrder, 'role'>): ChildProgram =>
  startProgram(THIS, { TINY_PIECES: JSON.stringify({ role: 'client', ...order }) });

/** Writes `port <number>`, and `answered` with each answer that it has begun. */
export const startTinyServer = (order: Omit<ServerOrder, 'role'>): ChildProgram =>
  startProgram(THIS, { TINY_PIECES: JSON.stringify({ role: 'server', ...order }) });

function send(socket: Socket, bytes: number, whenSent: () => void): void {
  let left = bytes;
  const go = () => {
    while (left > 0) {
      const count = Math.min(left, 10_000);
      left -= count;
      if (!socket.write(count === 10_000 ? BATCH : CHUNK.repeat(count)) && left > 0) {
        socket.once('drain', go);
        return;
      }
    }
    whenSent();
  };
  go();
}

function runClient(order: ClientOrder): void {
  let open = order.connections;
  const end = () => {
    if (--open === 0) console.log('sent');
  };
  const start = () => {
    let isOver = false;
    const finish = () => {
      if (!isOver) end();
      isOver = true;
    };
    const socket = connect(order.port, order.host, () => {
      socket.write(order.head + chunk(order.first));
      send(socket, order.bytes, () => {
        if (order.bytes > 0) socket.write(`${chunk(order.last)}0\r\n\r\n`);
        finish();
      });
    });
    socket.on('error', () => {}).on('close', finish);
    if (order.reads) socket.on('data', (data) => process.stdout.write(data.toString('latin1', 0, 200)));
    else socket.pause();
  };
  for (let index = 0; index < order.connections; index++) setTimeout(start, index * order.everyMs);
}

function runServer(order: ServerOrder): void {
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        if (!data.includes('HTTP/1.1')) return;
        console.log('answered');
        socket.write(`HTTP/1.1 ${order.status}\r\ntransfer-encoding: chunked\r\n\r\n${chunk(order.first)}`);
        send(socket, order.bytes, () => socket.write('0\r\n\r\n'));
      });
  });
  server.listen(order.port, order.host, () => {
    console.log(`port ${(server.address() as { port: number }).port}`);
  });
}

const { TINY_PIECES } = process.env;
if (TINY_PIECES) {
  const order = JSON.parse(TINY_PIECES) as ClientOrder | ServerOrder;
  if (order.role === 'client') runClient(order);
  else runServer(order);
}
