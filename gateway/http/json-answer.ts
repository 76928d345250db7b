/** Sends JSON. */
import { JSON_TYPE } from './error-response.ts';
import { ClientDisconnectedError, type Exchange } from './exchange.ts';

/** `more`: further headers, alternating names and values. */
export function sendJSON(
  exchange: Exchange,
  value: unknown,
  { status = 200, more = [] }: { status?: number; more?: string[] } = {},
): void {
  checkClient(exchange);
  const text = JSON.stringify(value);
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
