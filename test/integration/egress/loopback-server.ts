/** Servers on loopback addresses: one that hears all that comes, and what the web needs to be spoken to. */
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Certificates } from '../../support/test-certificates.ts';

export interface LoopbackServer {
  port: number;
  /** TCP connections so far, also those on which nothing was said. */
  connections: number;
  stop(): Promise<void>;
}

/** Hears every connection to `host`, and answers http: as told. */
export const startHttpServer = (
  listener: RequestListener,
  host = '127.0.0.1',
  port = 0,
): Promise<LoopbackServer> => start(createHttpServer(listener), host, port);

export const startHttpsServer = (listener: RequestListener, pair: Certificates): Promise<LoopbackServer> =>
  start(createHttpsServer({ cert: pair.cert, key: pair.key }, listener), '127.0.0.1');

/** Does with a connection what the test says, such as nothing. */
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
