/** Serves links to results of this deployment (docs/api.md, "Results"): what the store sends is passed on as it comes. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { Shares } from '../../kit/shares.ts';
import { ApiError } from '../http/error-response.ts';
import type { Exchange, GatewayMiddleware, GatewayState } from '../http/exchange.ts';
import { refuseAsUnavailable } from '../http/unavailability.ts';
import type { StorageServices } from '../jobs/services.ts';
import { CONTENT_HEADERS } from '../storage/result-headers.ts';
import { type ResultVerdict, readResultLink } from '../storage/result-links.ts';

export interface ResultServices<S extends GatewayState> {
  config: (state: S) => GatewayConfig;
  storage: Pick<StorageServices, 'urlSigner' | 'downloader'>;
  /** `linkSecret` of the deployment. */
  secret: (config: GatewayConfig) => Buffer;
  /** Unix milliseconds. */
  clock?: (() => number) | undefined;
  /** Downloads at once; the process's. */
  places?: Shares;
  /** The longest time in which nothing moves, for either side; a minute. */
  idleMs?: number | undefined;
}

/** At once in this process; a workspace may have twice as many as are still free. */
const MAX_DOWNLOADS = 200;
const processPlaces = new Shares({ total: MAX_DOWNLOADS, shareOfFree: 2 });
/** The lifetime of the link that only this gateway follows. */
const LINK_SECONDS = 300;
const IDLE_TIMEOUT_MS = 60_000;

const PASSED_TO_STORE = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
];
const PASSED_TO_CLIENT = [
  'content-type',
  'content-length',
  'content-range',
  'content-disposition',
  'accept-ranges',
  'etag',
  'last-modified',
];
const REFUSALS: Readonly<Record<number, string>> = {
  412: 'The result is not the one that the headers of the request name.',
  416: 'The range lies beyond the end of the result.',
};

/** Before keys are checked: the signature is the permission, and `Authorization`, which clients may send along, is not read. */
export const serveResults =
  <S extends GatewayState>(services: ResultServices<S>): GatewayMiddleware<S> =>
  ({ state }, next) =>
    state.route.name === 'result' ? sendResult(services, state) : next();

async function sendResult<S extends GatewayState>(services: ResultServices<S>, state: S): Promise<void> {
  const { secret, clock = Date.now, places = processPlaces, idleMs = IDLE_TIMEOUT_MS } = services;
  const { exchange } = state;
  const config = services.config(state);
  const link = requireValid(readResultLink(exchange.req.url!, secret(config), clock()));
  const place = places.open(config.namespace);
  if (!place.tryAdd(1))
    throw refuseAsUnavailable('downloads', 'Too many results are being downloaded at the moment.');
  try {
    const asked = { exchange, namespace: config.namespace, link, idleMs };
    const answer = await openResult(services.storage, asked);
    exchange.check();
    await passOn(answer, exchange, idleMs);
  } finally {
    place.release();
  }
}

type ValidLink = Exclude<ResultVerdict, string>;

function requireValid(link: ResultVerdict): ValidLink {
  if (link === 'expired')
    throw new ApiError(
      'permission_denied',
      'The link has expired: a request can be read again for a new one.',
    );
  if (link === 'tampered')
    throw new ApiError('permission_denied', 'The link is not one of this deployment, or was changed.');
  return link;
}

async function openResult(
  { urlSigner, downloader }: Pick<StorageServices, 'urlSigner' | 'downloader'>,
  {
    exchange,
    namespace,
    link,
    idleMs,
  }: { exchange: Exchange; namespace: string; link: ValidLink; idleMs: number },
): Promise<IncomingMessage> {
  const { credential, key, fileName } = link;
  const [url] = await urlSigner
    .signGets({
      namespace,
      credential,
      objects: [{ key, ...(fileName !== undefined && { fileName }) }],
      expiresInSeconds: LINK_SECONDS,
      isInternal: true,
    })
    .catch((error) => {
      const isGone = error instanceof ApiError && /^storage_credential_/.test(error.code);
      throw isGone ? refuseMissing() : error;
    });
  const headers = pick(exchange.req.headers, PASSED_TO_STORE);
  return downloader
    .open(url!, {
      isTenantHost: credential !== null,
      headers,
      idleMs,
      signal: exchange.signal,
    })
    .catch(() => {
      exchange.check();
      throw refuseAsUnavailable('storageService', 'The store of the result cannot be reached at the moment.');
    });
}

async function passOn(answer: IncomingMessage, exchange: Exchange, idleMs: number): Promise<void> {
  const { req, res } = exchange;
  const status = answer.statusCode!;
  const isWhole = status === 200 || status === 206;
  // A link of a store is signed for GET alone.
  if (!isWhole || req.method === 'HEAD') answer.destroy();
  if (!isWhole && status !== 304) throw refuseAnswer(status, answer.headers);
  const kept = pick(answer.headers, PASSED_TO_CLIENT);
  if (status === 304) delete kept['content-length'];
  exchange.firstByteAt = performance.now();
  res.writeHead(status, [...exchange.headers, ...CONTENT_HEADERS.flat(), ...Object.entries(kept).flat()]);
  if (answer.destroyed) {
    res.end();
    return;
  }
  // The client's connection shows it of both sides: the store's is silent, or closed already, while a client reads slowly.
  answer.setTimeout(0);
  res.setTimeout(idleMs, () => res.destroy());
  await pipeline(answer, res).catch(() => {
    exchange.check();
    throw new ApiError('upstream_error', 'The store broke the result off.');
  });
}

/** A store tells a missing object from a forbidden one only if the keys may list its bucket. */
function refuseAnswer(status: number, headers: IncomingHttpHeaders): ApiError {
  if (status === 404 || status === 403) return refuseMissing();
  const message = REFUSALS[status];
  const range = headers['content-range'];
  if (message)
    return new ApiError('invalid_request_error', message, {
      status,
      ...(range !== undefined && { headers: ['content-range', range] }),
    });
  return refuseAsUnavailable('storageService', `The store of the result answered ${status}.`);
}

const refuseMissing = () =>
  new ApiError('result_expired', 'The result no longer exists, or its bucket can no longer be read.');

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}
