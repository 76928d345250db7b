/** Sends JSON. */
import { JSON_TYPE } from './error-response.ts';
import { ClientDisconnectedError, type Exchange } from './exchange.ts';

/** `more`: further headers, alternating names and values. */
export const sendJSON = (exchange: Exchange, value: unknown, head: JSONHead = {}): void =>
  sendJSONText(exchange, JSON.stringify(value), head);

interface JSONHead {
  status?: number;
  more?: string[];
}

/** The same for JSON as a text. */
export function sendJSONText(
  exchange: Exchange,
  text: string,
  { status = 200, more = [] }: JSONHead = {},
): void {
  checkClient(exchange);
  const length = String(Buffer.byteLength(text));
  exchange.res.writeHead(
    status,
    exchange.headers.concat(more, 'content-type', JSON_TYPE, 'content-length', length),
  );
  exchange.res.end(text);
}

/** Sends only a head. */
export function sendEmpty(exchange: Exchange, status: number, more: string[] = []): void {
  checkClient(exchange);
  exchange.res.writeHead(
    status,
    exchange.headers.concat(more, status === 204 ? [] : ['content-length', '0']),
  );
  exchange.res.end();
}

/** Ignores cancellation: what is reported here is done, such as a queued job. */
function checkClient({ canceled }: Exchange): void {
  if (canceled instanceof ClientDisconnectedError) throw canceled;
}
