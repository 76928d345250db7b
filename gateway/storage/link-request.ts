/** Requests to a store's signed links. */
import { open } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { readBodyStart } from '../../kit/bounded-body.ts';
import { isLinkSkewed } from './link-clock.ts';
import type { SignedPut } from './object-store.ts';
import { classifyAnswer, type StorageReason } from './storage-error.ts';
import type { StoreAgents } from './store-agents.ts';

export interface LinkOptions {
  agents: StoreAgents;
  /** The longest time without a byte. */
  idleMs: number;
  signal: AbortSignal;
}

export interface LinkRequest extends LinkOptions {
  method: 'GET' | 'PUT';
  url: string;
  headers: Record<string, string>;
  /** Sends the body and ends the request, or reports why it cannot. */
  send: (request: ClientRequest, fail: (error: unknown) => void) => void;
}

export interface PutRequest extends LinkOptions {
  grant: SignedPut;
  file: { path: string; bytes: number };
}

export interface LinkAnswer {
  status: number;
  /** Its first 16 KiB, or less if it was interrupted. */
  body: Buffer;
  /** Why the store did not do it; null for success. */
  reason: StorageReason | null;
  /** The store's clock is too far from that of whoever just signed the link. */
  isSkewed: boolean;
}

const MAX_ANSWER_BYTES = 16 * 1024;
/** From this size on, `Expect: 100-continue` is used, since the store may refuse. */
const ASKED_FROM_BYTES = 1024 * 1024;
/** Some stores never send 100 Continue. */
const CONTINUE_TIMEOUT_MS = 1_000;
const CHUNK_BYTES = 256 * 1024;

/** Resolves to any response. Rejects with the network's error, a TimeoutError or the signal's reason. */
export async function requestLink(options: LinkRequest): Promise<LinkAnswer> {
  const { agents, idleMs, signal, method, headers, send } = options;
  agents.check(options.url);
  const url = new URL(options.url);
  const isTls = url.protocol === 'https:';
  const request = (isTls ? httpsRequest : httpRequest)(url, {
    method,
    headers,
    agent: isTls ? agents.https : agents.http,
    // As an option it covers connecting, too.
    timeout: idleMs,
    signal,
  });
  request.once('timeout', () => request.destroy(new DOMException('no data in time', 'TimeoutError')));
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // Not removed: an error may follow the response.
      request.on('error', reject).once('response', resolve);
      send(request, reject);
    });
    return await readAnswer(response, options.url);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    // Nothing more is sent to a store that responded early.
    if (!request.writableFinished) request.destroy();
  }
}

async function readAnswer(response: IncomingMessage, link: string): Promise<LinkAnswer> {
  // The status is enough if the body is interrupted.
  const body = await readBodyStart(response, MAX_ANSWER_BYTES);
  const status = response.statusCode!;
  const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(body.toString())?.[1];
  const isSkewed = isLinkSkewed(link, response.headers.date);
  return { status, body, isSkewed, reason: classify(status, code, isSkewed) };
}

/** Stores refuse a link that seems old, or not yet valid, like any other that they do not accept. */
function classify(status: number, code: string | undefined, isSkewed: boolean): StorageReason | null {
  if (status >= 200 && status < 300) return null;
  const reason = classifyAnswer(status, code);
  return isSkewed && DENIALS.has(reason) ? 'clock' : reason;
}

const DENIALS = new Set<StorageReason>(['denied', 'credentials', 'refused']);

/** One attempt to upload a file. As `requestLink`. */
export function putFile({ grant, file, ...options }: PutRequest): Promise<LinkAnswer> {
  const isAsked = file.bytes >= ASKED_FROM_BYTES;
  return requestLink({
    ...options,
    method: 'PUT',
    url: grant.url,
    headers: { ...grant.headers, ...(isAsked && { expect: '100-continue' }) },
    send: (request, fail) => {
      const send = () => void sendFile(request, file.path).catch(fail);
      if (isAsked) whenContinueAllowed(request, send);
      else send();
    },
  });
}

/** Calls back at most once: on 100 Continue, or after a timeout. */
function whenContinueAllowed(request: ClientRequest, send: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const settle = (next: () => void) => {
    clearTimeout(timer);
    if (!isSettled) next();
    isSettled = true;
  };
  request.once('continue', () => settle(send));
  request.once('socket', (socket) => {
    const start = () => {
      if (!isSettled) timer = setTimeout(() => settle(send), CONTINUE_TIMEOUT_MS);
    };
    if (socket.connecting) socket.once('connect', start);
    else start();
  });
  for (const event of ['response', 'close']) request.once(event, () => settle(() => {}));
}

/**
 * Fills one buffer while the other is sent: streams allocate a new one per piece, which adds up to tens of megabytes
 * before garbage collection. Ends early when the request does.
 */
async function sendFile(request: ClientRequest, path: string): Promise<void> {
  const closed = new Promise<void>((resolve) => request.once('close', resolve));
  const file = await open(path);
  try {
    const buffers = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)];
    let sent: Promise<void> = Promise.resolve();
    for (let turn = 0; ; turn++) {
      const buffer = buffers[turn % buffers.length]!;
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      await Promise.race([sent, closed]);
      if (request.destroyed) return;
      if (bytesRead === 0) break;
      sent = new Promise((resolve) => request.write(buffer.subarray(0, bytesRead), () => resolve()));
    }
    request.end();
  } finally {
    await file.close();
  }
}
