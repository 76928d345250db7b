/** Serves a folder's links, on an origin of its own. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { closeServer, createHTTPServer, listen, readServerPort } from '../../kit/http-server.ts';
import { type ByteRange, readRange } from './byte-range.ts';
import type { ObjectFolder, OpenObject } from './object-folder.ts';
import { formatDisposition } from './object-store.ts';
import { CONTENT_HEADERS } from './result-headers.ts';
import { type LinkClaims, readLink } from './signed-links.ts';
import { StorageError, type StorageReason } from './storage-error.ts';

export interface FolderServerOptions {
  objects: ObjectFolder;
  bucket: string;
  secret: Buffer;
  host: string;
  /** 0 takes a free one. */
  port: number;
}

/** Idle time, in either direction. */
const IDLE_TIMEOUT_MS = 30_000;
const METHODS = ['GET', 'HEAD', 'PUT'];
const STATUSES: Partial<Record<StorageReason, number>> = { full: 507, denied: 403, tooLarge: 413 };

/** Error response of a link, in S3's format. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class FolderServer {
  readonly #options: FolderServerOptions;
  readonly #server: Server;

  private constructor(options: FolderServerOptions) {
    this.#options = options;
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response).catch((error) => refuse(response, error));
    };
    // Large uploads may take long; stalled ones may not.
    this.#server = createHTTPServer(
      { requestTimeout: 0, methods: METHODS, isContinuedByListener: true },
      answer,
    );
    this.#server.setTimeout(IDLE_TIMEOUT_MS);
  }

  /** Throws an error that names the port if it cannot listen. */
  static async start(options: FolderServerOptions): Promise<FolderServer> {
    const server = new FolderServer(options);
    await listen(server.#server, options.port, options.host);
    return server;
  }

  get port(): number {
    return readServerPort(this.#server);
  }

  /** Aborts what is in progress. */
  close(): Promise<void> {
    return closeServer(this.#server, 0);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeaders(new Map(CONTENT_HEADERS));
    const { method } = request;
    if (!METHODS.includes(method!)) {
      response.setHeader('allow', METHODS.join(', '));
      throw new Refusal(405, 'MethodNotAllowed', 'Links support GET, HEAD and PUT.');
    }
    const claims = this.#readClaims(method === 'PUT' ? 'PUT' : 'GET', request.url ?? '');
    if (method === 'PUT') return this.#take(request, response, claims);
    const object = await this.#options.objects.open(claims.key);
    if (!object) throw new Refusal(404, 'NoSuchKey', 'The object no longer exists.');
    try {
      await send(request, response, { object, claims });
    } finally {
      await object.close().catch(() => {});
    }
  }

  #readClaims(method: 'GET' | 'PUT', text: string): LinkClaims {
    const { bucket, secret } = this.#options;
    const claims = readLink(method, text, secret, Date.now());
    if (claims === 'expired') throw new Refusal(403, 'AccessDenied', 'Request has expired');
    if (claims === 'tampered' || claims.bucket !== bucket)
      throw new Refusal(403, 'SignatureDoesNotMatch', 'The link was not signed by this store.');
    return claims;
  }

  async #take(request: IncomingMessage, response: ServerResponse, claims: LinkClaims): Promise<void> {
    const { 'content-length': length, 'content-type': type, expect } = request.headers;
    if (length === undefined)
      throw new Refusal(411, 'MissingContentLength', 'Uploads must send a Content-Length.');
    if (Number(length) !== claims.contentLength || type !== claims.contentType)
      throw new Refusal(
        403,
        'SignatureDoesNotMatch',
        'The link was signed for another content length or type.',
      );
    if (expect !== undefined) response.writeContinue();
    await this.#options.objects.write(claims.key, request, type!);
    response.writeHead(200, { 'content-length': 0 }).end();
  }
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { object, claims }: { object: OpenObject; claims: LinkClaims },
): Promise<void> {
  const { contentLength: size } = object;
  const etag = `"${Math.round(object.modifiedMs).toString(16)}-${size.toString(16)}"`;
  const ifRange = request.headers['if-range'];
  const asked = ifRange === undefined || ifRange === etag ? request.headers.range : undefined;
  const range = readRange(asked, size);
  response.setHeaders(
    new Map([
      ['content-type', claims.contentType ?? object.contentType],
      ['accept-ranges', 'bytes'],
      ['etag', etag],
      ['last-modified', new Date(object.modifiedMs).toUTCString()],
    ]),
  );
  if (claims.fileName !== undefined)
    response.setHeader('content-disposition', formatDisposition(claims.fileName));
  if (range === 'unsatisfiable') {
    response.setHeader('content-range', `bytes */${size}`);
    throw new Refusal(416, 'InvalidRange', 'The range lies beyond the end of the object.');
  }
  writeHead(response, range, size);
  if (request.method === 'HEAD' || size === 0) response.end();
  else await pipeline(object.read(range ?? undefined), response);
}

function writeHead(response: ServerResponse, range: ByteRange | null, size: number): void {
  if (!range) response.writeHead(200, { 'content-length': size });
  else
    response.writeHead(206, {
      'content-length': range.end - range.start + 1,
      'content-range': `bytes ${range.start}-${range.end}/${size}`,
    });
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { status, code, message } = toRefusal(error);
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>\n`;
  response.writeHead(status, {
    'content-type': 'application/xml',
    'content-length': Buffer.byteLength(body),
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const reason = error instanceof StorageError ? error.reason : 'failed';
  const message = error instanceof StorageError ? `The folder ${error.message}.` : 'The server failed.';
  const code =
    reason === 'full' ? 'InsufficientStorage' : reason === 'denied' ? 'AccessDenied' : 'InternalError';
  return new Refusal(STATUSES[reason] ?? 500, code, message);
}
