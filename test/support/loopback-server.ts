/** Servers on loopback addresses that count their connections. */
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Certificates } from './test-certificates.ts';

export interface LoopbackServer {
  port: number;
  /** TCP connections so far, also those on which nothing was said. */
  connections: number;
  stop(): Promise<void>;
}

/** Serves HTTP at `host`. */
export const startHttpServer = (
  listener: RequestListener,
  host = '127.0.0.1',
  port = 0,
): Promise<LoopbackServer> => start(createHttpServer(listener), host, port);

export const startHttpsServer = (listener: RequestListener, pair: Certificates): Promise<LoopbackServer> =>
  start(createHttpsServer({ cert: pair.cert, key: pair.key }, listener), '127.0.0.1');

/** Leaves each connection to the test. */
export const startSocketServer = (onConnection: (socket: Socket) => void): Promise<LoopbackServer> =>
  start(createServer(onConnection), '127.0.0.1');

async function start(server: Server, host: string, port = 0): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  const running: LoopbackServer = {
    port: 0,
    connections: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  server.on('connection', (socket: Socket) => {
    running.connections++;
    sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  running.port = (server.address() as AddressInfo).port;
  return running;
}
