/** A receiver of webhooks for developers: shows each delivery, forwards it to their own program, and replays it. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { readBody } from '../kit/bounded-body.ts';
import { closeServer, listen } from '../kit/http-server.ts';

export interface RelayOptions {
  /** null: deliveries are shown only, and answered with 200. */
  target: string | null;
  /** Of the workspace; null: signatures are not checked. */
  secret: string | null;
  host: string;
  print: (line: string) => void;
  now?: () => Date;
}

export interface WebhookRelay {
  url: string;
  /** Forwards a delivery again, as it came; the latest if no number is given. */
  replay(number?: number): Promise<void>;
  close(): Promise<void>;
}

interface Delivery {
  number: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Bodies of Berth are smaller. */
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_KEPT = 100;
/** As Berth waits for receivers. */
const FORWARD_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 1_000;
/** Of one hop only. */
const OWN_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'];

export async function startWebhookRelay(options: RelayOptions): Promise<WebhookRelay> {
  const { target, secret, host, print, now = () => new Date() } = options;
  const kept: Delivery[] = [];
  let count = 0;

  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request, MAX_BODY_BYTES);
    const delivery = { number: ++count, headers: readHeaders(request.headers), body };
    kept.push(delivery);
    if (kept.length > MAX_KEPT) kept.shift();
    const { 'x-service-event': event = 'unknown' } = delivery.headers;
    const signed = secret === null || isSigned(delivery, secret) ? '' : '  WRONG SIGNATURE';
    print(`${now().toISOString()}  #${delivery.number}  ${printable(event)}${signed}`);
    for (const line of formatBody(body)) print(`  ${line}`);
    const status = target === null ? 200 : await forward(delivery, target, print);
    response.writeHead(status).end();
  };
  const server = createServer((request, response) => {
    take(request, response).catch((error: Error) => {
      print(`  not taken: ${printable(error.message)}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(400).end();
    });
  });
  const port = await listen(server, 0, host);
  return {
    url: `http://${host}:${port}/`,
    replay: async (number = count) => {
      const delivery = kept.find((each) => each.number === number);
      if (!delivery)
        print(kept.length === 0 ? 'Nothing was delivered yet.' : `#${number} is not kept any more.`);
      else if (target === null) print('Nothing to forward to: start it with URL=http://localhost:3000/hook.');
      else {
        print(`${now().toISOString()}  #${number}  replayed`);
        await forward(delivery, target, print);
      }
    },
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

/** The answer of the target is what Berth gets, so that retries are as in production. */
async function forward(
  { headers, body }: Delivery,
  target: string,
  print: (line: string) => void,
): Promise<number> {
  const startedAt = performance.now();
  const spent = () => `${Math.round(performance.now() - startedAt)} ms`;
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    });
    await response.body?.cancel();
    print(`  → ${target} answered ${response.status} in ${spent()}`);
    return response.status;
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    print(`  → ${target} did not answer: ${printable(cause?.message ?? message)} (${spent()})`);
    return 502;
  }
}

const readHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !OWN_HEADERS.includes(name) ? [[name, value]] : [],
    ),
  );

/** JSON escapes what would move the terminal's cursor. */
function formatBody(body: Buffer): string[] {
  const text = body.toString('utf8');
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n');
  } catch {
    return [JSON.stringify(text)];
  }
}

const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?');
