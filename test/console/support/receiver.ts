/** A receiver of deliveries on this machine. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  url: string;
  /** What it answers from now on. */
  status: number;
  received: Received[];
  stop(): void;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    receiver.received.push({ headers: request.headers, body: await text(request) });
    response.writeHead(receiver.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    status: 200,
    received: [],
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return receiver;
}

/** Any of its signatures will do, as for a receiver. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const header = String(headers['x-service-signature']);
  const [, t] = /^t=(\d+),/.exec(header) ?? [];
  const wanted = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  return header.split(',').includes(`v1=${wanted}`);
}
