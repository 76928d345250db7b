/** Relays a request to a ready replica of its deployment. */
import { copyArrivedBody } from '../../kit/arrived-body.ts';
import { readConnectionFailure } from '../../kit/connection-error.ts';
import { formatOrigin } from '../capacity/peers.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Span } from '../tracing/span.ts';
import { type RelayedHeaders, selectRequestHeaders } from '../upstream/headers.ts';
import type { Pools } from '../upstream/pools.ts';
import { endRelaySpan, type RelayAnswer, relay } from '../upstream/relay.ts';
import { RelayedAnswer } from './relayed-answer.ts';
import type { ReplicaPicker } from './replica-picker.ts';
import type { SilenceWatch } from './silence-watch.ts';

export interface ProxyOptions {
  pools: Pools;
  picker: Pick<ReplicaPicker, 'rank' | 'enter' | 'avoid'>;
  silence: Pick<SilenceWatch, 'watch'>;
  /** Port of every replica's gateway. */
  replicaPort: number;
}

export interface ProxiedRequest {
  exchange: Exchange;
  addresses: readonly string[];
  /** Port of the replicas' gateways for an adapter; the usual one if absent. */
  port?: number | undefined;
  /** The body, if it was already read. */
  body?: Buffer | undefined;
  /** For the replica only. */
  ownHeaders?: Record<string, string> | undefined;
  /** Where the response goes; to the client if absent. */
  answer?: RelayAnswer | undefined;
}

/** `none`: no replica accepted a connection, and nothing was sent. `lost`: one accepted it and closed it early. */
export type ProxyOutcome = 'answered' | 'broken' | 'none' | 'lost';

/** An address without a gateway, such as a pod that is just gone, is skipped: nothing was sent to it. */
export async function proxyRequest(options: ProxyOptions, request: ProxiedRequest): Promise<ProxyOutcome> {
  const { exchange, addresses, answer = new RelayedAnswer(exchange) } = request;
  const { req, res, span } = exchange;
  const body = request.body ?? (await copyArrivedBody(req));
  const headers = buildHeaders(request);
  for (const address of options.picker.rank(addresses)) {
    const leave = options.picker.enter(address);
    let isLost = false;
    let abortRelay = () => {};
    const watched = options.silence.watch(address, () => {
      isLost = true;
      abortRelay();
    });
    const pool = options.pools.get(formatOrigin(address, request.port ?? options.replicaPort));
    const hop = span?.begin('replica', { kind: 'client', attributes: { 'server.address': address } });
    const outcome = await relay({
      req,
      res,
      pool,
      path: req.url!,
      headers: hop ? nameParent(headers, hop) : headers,
      body,
      answer: notice(answer, watched.hear),
      onCancel: (abort) => {
        abortRelay = () => abort(new Error('the replica cannot be reached any more'));
        return exchange.onCancel(abort);
      },
    });
    watched.leave();
    leave();
    const isUnreached = outcome.result === 'failed' && outcome.canRetry;
    // An adapter's port alone may be closed, which costs no time.
    const isPortClosed =
      isUnreached && request.port !== undefined && readConnectionFailure(outcome.error) === 'refused';
    if ((isUnreached && !isPortClosed) || isLost) options.picker.avoid(address);
    if (hop) endRelaySpan(hop, outcome);
    if (outcome.result !== 'failed') return outcome.result;
    if (!outcome.canRetry) return 'lost';
  }
  return 'none';
}

/** The same answer; `hear` is called at each part of it. */
const notice = (answer: RelayAnswer, hear: () => void): RelayAnswer => ({
  begin: (status, headers) => {
    hear();
    answer.begin(status, headers);
  },
  write: (chunk) => {
    hear();
    return answer.write(chunk);
  },
  end: () => answer.end(),
  break: () => answer.break(),
});

/** Without the state of another trace, which the caller may have sent. */
function nameParent({ tracestate: _, ...headers }: RelayedHeaders, hop: Span): RelayedHeaders {
  return { ...headers, ...hop.headers };
}

function buildHeaders({ exchange, body, ownHeaders }: ProxiedRequest): RelayedHeaders {
  const { req, requestId } = exchange;
  const headers = { ...selectRequestHeaders(req.headers), ...ownHeaders };
  const client = req.socket.remoteAddress?.replace(/^::ffff:/, '') ?? 'unknown';
  const before = req.headers['x-forwarded-for'];
  headers['x-forwarded-for'] = before ? `${before}, ${client}` : client;
  headers['x-request-id'] = requestId;
  // It may be shorter than sent, without its byte order mark.
  if (body) headers['content-length'] = String(body.length);
  return headers;
}
