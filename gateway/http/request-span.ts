/** A request as a span, from its head to its last byte. */
import type { Span, Tracer } from '../tracing/span.ts';
import type { Exchange, GatewayState } from './exchange.ts';

/** Of caller-chosen values. */
const MAX_TEXT_LENGTH = 256;

/** A copy, since V8 keeps the whole string that a substring was cut from. */
const cut = (text: string): string =>
  Buffer.from(text.slice(0, MAX_TEXT_LENGTH), 'latin1').toString('latin1');

export function beginRequestSpan(tracer: Tracer, exchange: Exchange): void {
  const { method = '', url = '', headers } = exchange.req;
  const span = tracer.begin(method, {
    kind: 'server',
    parent: exchange.trace,
    attributes: {
      'http.request.method': method,
      'url.scheme': 'http',
      'url.path': cut(url.split('?', 1)[0]!),
      'server.address': cut(headers.host?.replace(/:\d+$/, '') ?? '') || undefined,
      'berth.request_id': exchange.requestId,
    },
  });
  exchange.span = span;
  exchange.trace = span;
}

/** `outcome`: the status, also of a stream that failed later. */
export function endRequestSpan(
  span: Span,
  { exchange, route, keyName }: Partial<GatewayState> & Pick<GatewayState, 'exchange'>,
  outcome: number,
): void {
  const { res, errorCode } = exchange;
  if (route) span.rename(`${route.method} ${route.path}`);
  span.set({
    'http.route': route?.path,
    ...(res.headersSent && { 'http.response.status_code': res.statusCode }),
    'berth.api_key': keyName || undefined,
  });
  if (outcome >= 500) span.fail(errorCode ?? String(outcome));
  else if (outcome >= 400) span.end({ code: errorCode ?? 'client_disconnected', status: outcome });
  else span.end(exchange.canceled);
}
