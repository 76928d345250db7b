/** The HTTP server of every program: what is no valid request, early answers, and its lifecycle. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { closeAfterRest, EarlyResponse } from './early-answer.ts';
import { JoinedRequest } from './joined-request.ts';
import { normalizeTarget } from './request-target.ts';
import { RequestTurns } from './request-turns.ts';
import { SlicedReads } from './sliced-reads.ts';

/** Why a request does not reach the program's listener. */
export interface HTTPFault {
  status: 400 | 405 | 408 | 413 | 431 | 501 | 505;
  message: string;
}

export interface HTTPServerOptions extends ServerOptions {
  /** Answers a fault; plain text if absent. `headers`: alternating names and values. */
  refuse?: (fault: HTTPFault) => { headers: string[]; text: string };
  /** Methods of its routes. */
  methods: readonly string[];
  /** The listener sends 100 Continue itself, and treats other expectations as it likes. */
  isContinuedByListener?: boolean;
}

const MAX_HEADER_BYTES = 16 * 1024;
/** Above the idle time of the usual load balancers, so that it is never the server that closes first. */
const KEEP_ALIVE_MS = 620_000;

interface ServedSocket extends Socket {
  turns: RequestTurns;
  onTinyPieces: () => void;
  /** By performance.now(). */
  openedAt: number;
  /** Its first request has come. */
  isUsed: boolean;
  /** It waited for longer than headers may take. */
  isKept: boolean;
}

/** Not yet listening. The listener sees targets as paths, whatever their form, and the target's host in the Host header. */
export function createHTTPServer(options: HTTPServerOptions, listener: RequestListener): Server {
  const { refuse = describeFault, methods, isContinuedByListener, ...more } = options;
  const answer = (fault: HTTPFault) => {
    const { headers, text } = refuse(fault);
    headers.push('content-length', String(Buffer.byteLength(text)));
    if (fault.status === 405) headers.push('allow', methods.join(', '));
    return { status: fault.status, headers, text };
  };
  const serve = (res: ServerResponse<IncomingMessage>) => {
    const { req } = res;
    // The framing of HTTP/1.0 has no chunks (RFC 9112, 6.1).
    if (req.httpVersion === '1.0' && req.headers['transfer-encoding'] !== undefined)
      res.shouldKeepAlive = false;
    const fault = findFault(req);
    if (!fault) return listener(req, res);
    if (fault.status === 505) res.shouldKeepAlive = false;
    const { status, headers, text } = answer(fault);
    res.writeHead(status, headers).end(text);
  };
  const enter = (req: IncomingMessage, res: ServerResponse<IncomingMessage>) => {
    const socket = req.socket as ServedSocket;
    socket.isUsed = true;
    socket.turns.enter(res);
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
      ...more,
      requireHostHeader: false,
      IncomingMessage: JoinedRequest,
      ServerResponse: EarlyResponse,
    },
    enter,
  );
  if (isContinuedByListener) server.on('checkContinue', enter).on('checkExpectation', enter);
  const reads = new SlicedReads();
  const opened = new Set<ServedSocket>();
  connections.set(server, opened);
  server.on('connection', (socket: ServedSocket) => {
    opened.add(socket);
    socket.openedAt = performance.now();
    socket.once('close', () => opened.delete(socket));
    reads.add(socket);
    socket.onTinyPieces = () => reads.begin(socket);
    socket.turns = new RequestTurns(socket, serve);
    socket.destroySoon = () => closeAfterRest(socket);
  });
  server.on('clientError', (error: ParserError, socket: ServedSocket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return keepUnused(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    socket.turns.refuse(() => endRaw(socket, answer(readFault(error))));
  });
  server.on('connect', (_, socket: ServedSocket) =>
    socket.turns.refuse(() => endRaw(socket, answer({ status: 405, message: 'CONNECT is not supported.' }))),
  );
  return server;
}

/** Milliseconds since the connection of a request was opened. */
export const readAge = ({ socket }: IncomingMessage): number =>
  performance.now() - (socket as ServedSocket).openedAt;

/** The open ones of each server. */
const connections = new WeakMap<Server, Set<ServedSocket>>();

/**
 * A proxy opens connections ahead of requests, and keeps those that turned out not to be needed. A 408 on one is taken for the
 * answer to the request for which it is used at this very moment: it is kept as long as one that has served.
 */
function keepUnused(socket: ServedSocket): void {
  socket.isKept = true;
  const timer = setTimeout(() => closeUnused([socket]), KEEP_ALIVE_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** A first request may be on its way for a moment. */
const FIRST_REQUEST_MS = 1_000;

/** Node no longer watches what was kept; a few bytes that begin no request change nothing. */
function closeUnused(sockets: Iterable<ServedSocket>): void {
  const before = performance.now() - FIRST_REQUEST_MS;
  for (const socket of sockets) {
    const { isUsed, isKept, bytesRead, openedAt } = socket;
    if (!isUsed && (isKept || (bytesRead === 0 && openedAt <= before))) socket.destroy();
  }
}

function findFault(req: IncomingMessage): HTTPFault | null {
  if (!/^1\.[01]$/.test(req.httpVersion)) return WRONG_VERSION;
  if (Number(req.headers['content-length']) > Number.MAX_SAFE_INTEGER) return TOO_LARGE;
  const message = normalizeTarget(req);
  return message === null ? null : { status: 400, message };
}

/** Node's parser takes numbers that no body has, which no client would send on. */
const TOO_LARGE: HTTPFault = { status: 413, message: 'The Content-Length is larger than any body.' };
const WRONG_VERSION: HTTPFault = { status: 505, message: 'Send the request in HTTP/1.1.' };

/** What Node's parser could not read. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

const readFault = (error: ParserError): HTTPFault => {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, message: `The request headers exceed ${MAX_HEADER_BYTES} bytes.` };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, message: 'The chunk extensions of the body are too long.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, message: 'The request did not arrive in time.' };
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return WRONG_VERSION;
    case 'HPE_INVALID_METHOD':
      if (isRequestLine(error)) return { status: 501, message: 'This method is not supported.' };
  }
  return { status: 400, message: `This is not a valid HTTP request: ${error.message}.` };
};

/** Whether the parser stopped in one; bytes of another protocol are none. */
function isRequestLine({ rawPacket = Buffer.alloc(0), bytesParsed = 0 }: ParserError): boolean {
  const start = rawPacket.lastIndexOf('\n', bytesParsed) + 1;
  return /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?\n/.test(
    rawPacket.toString('latin1', start, start + MAX_HEADER_BYTES),
  );
}

const describeFault = ({ message }: HTTPFault) => ({
  headers: ['content-type', 'text/plain; charset=utf-8'],
  text: `${message}\n`,
});

/** For what has no response of Node's. */
function endRaw(
  socket: Socket,
  { status, headers, text }: { status: number; headers: string[]; text: string },
): void {
  const all = [...headers, 'date', new Date().toUTCString(), 'connection', 'close'];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let index = 0; index < all.length; index += 2) head += `${all[index]}: ${all[index + 1]}\r\n`;
  socket.on('error', () => {});
  socket.write(`${head}\r\n${text}`);
  closeAfterRest(socket);
}

/** Resolves with the port; throws an error that names it. `port`: 0 takes a free one. `host`: all addresses if absent. */
export function listen(server: Server, port: number, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) =>
      reject(new Error(`cannot listen on port ${port}: ${error.message}`, { cause: error }));
    server.once('error', onError);
    server.listen({ port, host }, () => {
      server.off('error', onError);
      resolve(readServerPort(server));
    });
  });
}

/** As `listen`, on a Unix socket, of which a path has at most 107 bytes. */
export function listenOnSocket(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

const SWEEP_INTERVAL_MS = 50;

/** Stops accepting connections and lets requests in flight finish; aborts them after `timeoutMs`. */
export function closeServer(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // A connection with a response in progress becomes idle only when that has ended.
    const closeIdle = () => {
      server.closeIdleConnections();
      // To Node, these are about to send a request.
      closeUnused(connections.get(server) ?? []);
    };
    const sweep = setInterval(closeIdle, SWEEP_INTERVAL_MS);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
    closeIdle();
  });
}

/** The port that a server listens on. */
export function readServerPort(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
