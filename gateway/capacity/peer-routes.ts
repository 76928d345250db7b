/** A replica's service to its peers: it reserves a slot and pipes the peer's request to its engine. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { copyArrivedBody } from '../../kit/arrived-body.ts';
import { readTraceContext, type Span, type Tracer } from '../tracing/span.ts';
import { type RelayedHeaders, selectRequestHeaders } from '../upstream/headers.ts';
import { endRelaySpan, PlainAnswer, type RelayOutcome, relay } from '../upstream/relay.ts';
import {
  BALANCED_HEADER,
  buildTokenCheck,
  INFLIGHT_HEADER,
  PEER_ENGINE_PREFIX,
  PEER_PREFIX,
  PEER_TOKEN_HEADER,
  RESERVATION_HEADER,
  RESERVATIONS_PATH,
  UNSENT_HEADER,
} from './peer-protocol.ts';
import type { PrefixBalance } from './prefix-balance.ts';
import type { Reservations } from './reservations.ts';

export interface PeerRoutesOptions {
  token: string;
  /** From other deployments of the workspace; null: there are none. */
  hops: Hops | null;
  reservations: Reservations;
  enginePool: Dispatcher;
  /** Whether a peer's request may start here now: engine healthy, not draining. */
  isOpen: () => boolean;
  /** Whether another deployment's may: not while this replica should become idle. */
  isOpenToHops: () => boolean;
  balance: Pick<PrefixBalance, 'observe' | 'hasShare' | 'inflight'>;
  /** The engine did not accept a connection. */
  onEngineLost: () => void;
  /** null or absent: no tracing. */
  tracer?: Tracer | null;
}

export interface Hops {
  token: string;
  /** Paths of the engine that they may use; null: none, since no deployment names this one in its traffic. Called each time. */
  listPaths: () => readonly string[] | null;
}

/** Returns true for a peer's request; without the token, it is treated as any other request. */
export type PeerRoutes = (req: IncomingMessage, res: ServerResponse) => boolean;

/** Headers that an engine does not use, and that a peer must not pass on. */
const PRIVATE_HEADERS = ['host', 'authorization', 'x-api-key', 'cookie'];

export function createPeerRoutes(options: PeerRoutesOptions): PeerRoutes {
  const isToken = buildTokenCheck(options.token);
  const readHop = buildHopReader(options.hops);
  return (req, res) => {
    if (!req.url?.startsWith(PEER_PREFIX)) return false;
    const token = req.headers[PEER_TOKEN_HEADER];
    const isPeer = isToken(token);
    const paths = isPeer ? null : readHop(token);
    if (!isPeer && paths === null) return false;
    if (req.url === RESERVATIONS_PATH && req.method === 'POST') {
      if (isPeer) reserve(options, req, res);
      else reserveForHop(options, req, res);
      return true;
    }
    if (!req.url.startsWith(`${PEER_ENGINE_PREFIX}/`)) return false;
    if (paths !== null && !paths.includes(req.url.slice(PEER_ENGINE_PREFIX.length))) return false;
    void pipeToEngine(options, req, res);
    return true;
  };
}

/** Paths that a hop may use; null: it is none, or there are none now. */
function buildHopReader(
  hops: Hops | null,
): (token: string | string[] | undefined) => readonly string[] | null {
  if (hops === null) return () => null;
  const isToken = buildTokenCheck(hops.token);
  return (token) => (isToken(token) ? hops.listPaths() : null);
}

function reserve(
  { reservations, isOpen, balance }: PeerRoutesOptions,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const pod = req.headers[BALANCED_HEADER];
  const isBalanced = typeof pod === 'string';
  if (isBalanced) balance.observe(pod, req.headers[INFLIGHT_HEADER]);
  const id = isOpen() && (!isBalanced || balance.hasShare()) ? reservations.make() : null;
  if (isBalanced) res.setHeader(INFLIGHT_HEADER, balance.inflight);
  if (id) res.setHeader(RESERVATION_HEADER, id);
  if (id) answer(res, 201);
  else answer(res, isOpen() ? 429 : 503);
}

/** The latest reservation that each connection made for another deployment. */
const latest = new WeakMap<Socket, string>();

/** Another deployment's request has its own limits already: only a slot is needed here. */
function reserveForHop(
  { reservations, isOpenToHops }: PeerRoutesOptions,
  { socket }: IncomingMessage,
  res: ServerResponse,
): void {
  const id = isOpenToHops() ? reservations.make() : null;
  if (id) {
    // Whoever gives up before the answer, as this replica was slow, closes the connection.
    if (!latest.has(socket)) socket.once('close', () => reservations.cancel(latest.get(socket)!));
    latest.set(socket, id);
    res.setHeader(RESERVATION_HEADER, id);
  }
  answer(res, id ? 201 : 503);
}

async function pipeToEngine(
  options: PeerRoutesOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const release = options.reservations.redeem(String(req.headers[RESERVATION_HEADER]));
  if (!release) {
    res.setHeader(UNSENT_HEADER, '1');
    answer(res, 409);
    return;
  }
  const body = await copyArrivedBody(req);
  const path = req.url!.slice(PEER_ENGINE_PREFIX.length);
  const span = options.tracer && beginPeerSpan(options.tracer, req, path);
  try {
    const headers = { ...selectEngineHeaders(req), ...span?.headers };
    const outcome = await relay({
      req,
      res,
      pool: options.enginePool,
      path,
      headers,
      body,
      answer: new EngineAnswer({ res }, span),
    });
    if (span) endPeerSpan(span, res, outcome);
    if (outcome.result !== 'failed') return;
    if (outcome.canRetry) {
      options.onEngineLost();
      res.setHeader(UNSENT_HEADER, '1');
    }
    answer(res, 502);
  } finally {
    release();
  }
}

/** Only this replica may report that nothing was sent, not its engine. */
class EngineAnswer extends PlainAnswer {
  readonly #span: Span | null | undefined;
  #hasBegun = false;

  constructor(request: { res: ServerResponse }, span: Span | null | undefined) {
    super(request);
    this.#span = span;
  }

  override write(chunk: Buffer): boolean {
    if (!this.#hasBegun) this.#span?.note('first byte');
    this.#hasBegun = true;
    return super.write(chunk);
  }

  override begin(status: number, { [UNSENT_HEADER]: _, ...received }: IncomingHttpHeaders): void {
    super.begin(status, received);
  }
}

function beginPeerSpan(tracer: Tracer, { method, headers }: IncomingMessage, path: string): Span {
  return tracer.begin('peer', {
    kind: 'server',
    parent: readTraceContext(headers),
    attributes: {
      'http.request.method': method,
      'url.path': path.split('?', 1)[0],
      'berth.request_id': String(headers['x-request-id'] ?? ''),
    },
  });
}

function endPeerSpan(span: Span, res: ServerResponse, outcome: RelayOutcome): void {
  if (res.statusCode >= 500) span.fail('upstream_error');
  else endRelaySpan(span, outcome);
}

function selectEngineHeaders(req: IncomingMessage): RelayedHeaders {
  const headers = selectRequestHeaders(req.headers);
  for (const name of PRIVATE_HEADERS) delete headers[name];
  return headers;
}

function answer(res: ServerResponse, status: number): void {
  res.writeHead(status, { 'content-length': 0 }).end();
}
