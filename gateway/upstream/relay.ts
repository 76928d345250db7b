/** Hands a request on as it is and its answer back, with backpressure and aborts both ways. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { endAfterRequestBody } from '../http/error-response.ts';
import { isNotConnected, readErrorCode } from './connection-error.ts';
import { type RelayedHeaders, selectResponseHeaders } from './headers.ts';

export interface RelayRequest {
  req: IncomingMessage;
  res: ServerResponse;
  pool: Dispatcher;
  /** With the query. */
  path: string;
  headers: RelayedHeaders;
  /** Last words for a client whose answer broke off; null closes the connection at once, which says it too. */
  describeBreak?: (headers: IncomingHttpHeaders) => string | null;
}

/**
 * `answered`: the answer has been passed on to its end. `broken`: it broke off, or the client left. `failed`: nothing
 * has been answered yet; `canRetry` says that nothing of the request has been sent either.
 */
export type RelayOutcome =
  | { result: 'answered' }
  | { result: 'broken' }
  | { result: 'failed'; canRetry: boolean; error: Error };

/** Of a request without a body, or whose body was not read: nothing of it was sent. */
const NOT_SENT = new Set(['ENOTFOUND', 'ETIMEDOUT', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);

/** Never throws. */
export function relay(request: RelayRequest): Promise<RelayOutcome> {
  const { req, res, pool, path, headers } = request;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null;
    let responseHeaders: IncomingHttpHeaders | null = null;
    const body = readBody(req);
    const onClientClose = () => {
      if (!res.writableFinished) controller?.abort(new Error('the client has left'));
    };
    const onDrain = () => controller?.resume();
    const finish = (outcome: RelayOutcome) => {
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
          if (res.destroyed) controller.abort(new Error('the client has left'));
        },
        onResponseStart(_, status, received) {
          if (status < 200) return;
          responseHeaders = received;
          res.writeHead(status, selectResponseHeaders(received));
          // An answer of unknown length may be a stream whose first byte is far away.
          if (received['content-length'] === undefined) res.flushHeaders();
        },
        onResponseData(_, chunk) {
          if (!res.write(chunk)) controller?.pause();
        },
        onResponseEnd() {
          if (req.complete || res.shouldKeepAlive) res.end();
          else endAfterRequestBody(req, res);
          finish({ result: 'answered' });
        },
        onResponseError(_, error) {
          if (!responseHeaders && !res.destroyed) {
            const isUnsent = isNotConnected(error) || NOT_SENT.has(readErrorCode(error));
            finish({ result: 'failed', canRetry: isUnsent && !body.isTouched(), error });
            return;
          }
          const lastWords = res.destroyed ? null : request.describeBreak?.(responseHeaders!);
          if (lastWords) res.end(lastWords);
          else res.destroy();
          finish({ result: 'broken' });
        },
      },
    );
  });
}

/** The request's body, read only once the other side is connected, so that another can be tried before. */
function readBody(req: IncomingMessage): {
  source: Dispatcher.DispatchOptions['body'];
  isTouched: () => boolean;
} {
  const hasBody =
    req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0';
  if (!hasBody) return { source: null, isTouched: () => false };
  let isTouched = false;
  const source = (async function* () {
    isTouched = true;
    yield* req.iterator({ destroyOnReturn: false });
  })();
  return { source: source as unknown as Dispatcher.DispatchOptions['body'], isTouched: () => isTouched };
}
