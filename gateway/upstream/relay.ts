/** Relays a request and its response unchanged, with backpressure and aborts both ways. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { isNotConnected, readConnectionFailure } from '../../kit/connection-error.ts';
import { toDispatchBody } from '../../kit/kept-body.ts';
import type { Span } from '../tracing/span.ts';
import { type RelayedHeaders, selectResponseHeaders } from './headers.ts';

export interface RelayRequest {
  req: IncomingMessage;
  res: ServerResponse;
  pool: Dispatcher;
  /** With the query. */
  path: string;
  headers: RelayedHeaders;
  /** Replaces the request's own body, if that was read already. */
  body?: Buffer | undefined;
  /** Calls back when the request is canceled for another reason than the client; returns how to stop that. */
  onCancel?: ((abort: (reason: Error) => void) => () => void) | undefined;
  /** Where the response goes; unchanged to the client if absent. */
  answer?: RelayAnswer | undefined;
}

/** Receives a response and writes to the client. */
export interface RelayAnswer {
  begin(status: number, headers: IncomingHttpHeaders): void;
  /** False: the client is slow, `drain` of the response follows. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** It was interrupted after it had started. */
  break(): void;
}

/**
 * `answered`: the response was relayed to its end. `broken`: it was interrupted, or the client disconnected. `failed`: nothing
 * has been answered yet; `canRetry` says that nothing of the request has been sent either.
 */
export type RelayOutcome =
  | { result: 'answered' }
  | { result: 'broken'; hasClientLeft: boolean }
  | { result: 'failed'; canRetry: boolean; error: Error };

/** No connection was established, or the pool was closed before. */
function isUnsent(error: Error): boolean {
  const failure = readConnectionFailure(error);
  return isNotConnected(error) || failure === 'unresolved' || failure === 'closed';
}

/** Never throws. */
export function relay(request: RelayRequest): Promise<RelayOutcome> {
  const { req, res, pool, path, headers, answer = new PlainAnswer(request) } = request;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null;
    let hasBegun = false;
    const body = readBody(req, request.body);
    const onClientClose = () => {
      if (!res.writableFinished) controller?.abort(new Error('client disconnected'));
    };
    const onDrain = () => controller?.resume();
    const stopListening = request.onCancel?.((reason) => controller?.abort(reason));
    const finish = (outcome: RelayOutcome) => {
      stopListening?.();
      res.off('close', onClientClose);
      res.off('drain', onDrain);
      resolve(outcome);
    };
    res.on('close', onClientClose);
    res.on('drain', onDrain);

    pool.dispatch(
      { path, method: req.method as Dispatcher.HttpMethod, headers, body: body.source },
      {
        onRequestStart(started) {
          controller = started;
          body.begin();
          if (res.destroyed) controller.abort(new Error('client disconnected'));
        },
        onResponseStart(_, status, received) {
          if (status < 200) return;
          hasBegun = true;
          answer.begin(status, received);
        },
        onResponseData(_, chunk) {
          if (!answer.write(chunk)) controller?.pause();
        },
        onResponseEnd() {
          answer.end();
          finish({ result: 'answered' });
        },
        onResponseError(_, error) {
          if (!hasBegun && !res.destroyed) {
            finish({ result: 'failed', canRetry: isUnsent(error) && !body.isTouched(), error });
            return;
          }
          const hasClientLeft = res.destroyed;
          answer.break();
          finish({ result: 'broken', hasClientLeft });
        },
      },
    );
  });
}

/** Relays a response unchanged; one that is interrupted breaks the connection. */
export class PlainAnswer implements RelayAnswer {
  readonly #res: ServerResponse;

  constructor({ res }: { res: ServerResponse }) {
    this.#res = res;
  }

  begin(status: number, received: IncomingHttpHeaders): void {
    this.#res.writeHead(status, selectResponseHeaders(received));
    // A response of unknown length may be a stream whose first byte takes long.
    if (received['content-length'] === undefined) this.#res.flushHeaders();
  }

  write(chunk: Buffer): boolean {
    return this.#res.write(chunk);
  }

  end(): void {
    this.#res.end();
  }

  break(): void {
    this.#res.destroy();
  }
}

/** The request's body, read only once the upstream is connected, so that another can be tried before. */
function readBody(
  req: IncomingMessage,
  given: Buffer | undefined,
): {
  source: Dispatcher.DispatchOptions['body'];
  /** The upstream is connected. */
  begin: () => void;
  /** Whether some of it may have been sent or lost. */
  isTouched: () => boolean;
} {
  const hasBody =
    req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0';
  const nothing = () => {};
  if (!hasBody) return { source: null, begin: nothing, isTouched: () => false };
  let isTouched = false;
  const begin = () => {
    isTouched = true;
  };
  if (given) return { source: given, begin, isTouched: () => isTouched };
  const source = (async function* () {
    isTouched = true;
    yield* req.iterator({ destroyOnReturn: false });
  })();
  return {
    source: toDispatchBody(source),
    begin: nothing,
    isTouched: () => isTouched,
  };
}

/** Ends the span of a relayed request: a client that disconnects is no failure. */
export function endRelaySpan(span: Span, outcome: RelayOutcome): void {
  if (outcome.result === 'answered') span.end();
  else if (outcome.result === 'broken' && outcome.hasClientLeft) span.end('client_disconnected');
  else span.fail('upstream_error');
}
