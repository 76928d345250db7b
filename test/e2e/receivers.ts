/** What deliveries and mails reach, on the node: the one place beside the buckets that webhooks may call here. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

export interface Delivery {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  event: { id: string; type: string; created_at: number; data: Record<string, unknown> };
}

export interface Receiver {
  readonly deliveries: readonly Delivery[];
  urlOf(path: string): string;
  /** Deliveries to one path, in the order of their coming. */
  at(path: string): Delivery[];
  stop(): void;
}

/** Answers by path; what `behaviors` does not name is a 200. */
export async function startReceiver(
  host: string,
  behaviors: Record<string, RequestListener>,
): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request;
    const body = await buffer(request);
    deliveries.push({ path, headers, body, event: JSON.parse(body.toString()) });
    const behave = behaviors[path];
    if (behave) behave(request, response);
    else response.end();
  }).listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    deliveries,
    urlOf: (path) => `http://${host}:${port}${path}`,
    at: (path) => deliveries.filter((delivery) => delivery.path === path),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Over the exact bytes that came. */
export function isSigned({ headers, body }: Delivery, secret: string): boolean {
  const [, time, signature] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-service-signature'])) ?? [];
  return signature === createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex');
}

export interface MailServer {
  port: number;
  readonly mails: readonly { to: string[]; text: string }[];
  stop(): Promise<void>;
}

export async function startMailServer(host: string): Promise<MailServer> {
  const mails: { to: string[]; text: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, { envelope }, done) =>
      void text(stream).then((raw) => {
        // Lines are broken as quoted-printable breaks them.
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), text: raw.replace(/=\r?\n/g, '') });
        done();
      }, done),
  });
  await once(server.listen(0, host), 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
