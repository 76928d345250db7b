/** Receives the webhooks of `make run` for an inbox. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { readBody } from '../../kit/bounded-body.ts';
import { closeServer, listen } from '../../kit/http-server.ts';
import { createInbox, type Delivery, type Inbox, type Print, toWord } from './inbox.ts';

export interface RelayOptions {
  /** null: deliveries are only shown, and get a 200. */
  target: string | null;
  /** Signing secret of the workspace; null: signatures are not checked. */
  secret: string | null;
  host: string;
  print: Print;
  now?: () => Date;
}

export interface WebhookRelay extends Pick<Inbox, 'replay'> {
  url: string;
  close(): Promise<void>;
}

/** Bodies of Berth are smaller. */
const MAX_BODY_BYTES = 1024 * 1024;
const CLOSE_TIMEOUT_MS = 1_000;
/** Hop-by-hop headers. */
const OWN_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'];

export async function startWebhookRelay(options: RelayOptions): Promise<WebhookRelay> {
  const { target, secret, host, print, now = () => new Date() } = options;
  const inbox = createInbox({ target, print, now });

  /** Berth gets the target's response, so that retries are as in production. */
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request, MAX_BODY_BYTES);
    const delivery = { headers: readHeaders(request.headers), body };
    const isWrong = secret !== null && !isSigned(delivery, secret);
    response.writeHead(await inbox.take(delivery, isWrong ? 'WRONG SIGNATURE' : '')).end();
  };
  const server = createServer((request, response) => {
    take(request, response).catch((error: Error) => {
      print(`  rejected: ${toWord(error.message)}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(400).end();
    });
  });
  const port = await listen(server, 0, host);
  return {
    url: `http://${host}:${port}/`,
    replay: inbox.replay,
    close: () => closeServer(server, CLOSE_TIMEOUT_MS),
  };
}

function isSigned({ headers, body }: Delivery, secret: string): boolean {
  try {
    new Webhook(secret).verify(body.toString('utf8'), headers);
    return true;
  } catch {
    return false;
  }
}

const readHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !OWN_HEADERS.includes(name) ? [[name, value]] : [],
    ),
  );
