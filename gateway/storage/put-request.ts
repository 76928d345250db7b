/** One attempt to upload a file to a signed link. */
import { open } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { readBodyStart } from '../../kit/bounded-body.ts';
import type { SignedPut } from './object-store.ts';
import type { StoreAgents } from './store-agents.ts';

export interface PutRequest {
  grant: SignedPut;
  file: { path: string; bytes: number };
  agents: StoreAgents;
  /** The longest time without a byte. */
  idleMs: number;
  signal: AbortSignal;
}

export interface PutAnswer {
  status: number;
  /** S3's error code. */
  code: string | undefined;
}

/** From this size on, `Expect: 100-continue` is used, since the store may refuse. */
const ASKED_FROM_BYTES = 1024 * 1024;
/** Some stores never send 100 Continue. */
const CONTINUE_TIMEOUT_MS = 1_000;
const MAX_ANSWER_BYTES = 16 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Resolves to any response. Rejects with the network's error, a TimeoutError or the signal's reason. */
export async function putFile(options: PutRequest): Promise<PutAnswer> {
  const { grant, file, agents, idleMs, signal } = options;
  agents.check(grant.url);
  const url = new URL(grant.url);
  const isTls = url.protocol === 'https:';
  const isAsked = file.bytes >= ASKED_FROM_BYTES;
  const request = (isTls ? httpsRequest : httpRequest)(url, {
    method: 'PUT',
    headers: { ...grant.headers, ...(isAsked && { expect: '100-continue' }) },
    agent: isTls ? agents.https : agents.http,
    // As an option it covers connecting, too.
    timeout: idleMs,
    signal,
  });
  request.once('timeout', () => request.destroy(new DOMException('no data in time', 'TimeoutError')));
  try {
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      // Not removed: an error may follow the response.
      request.on('error', reject).once('response', resolve);
      const send = () => void sendFile(request, file.path).catch(reject);
      if (isAsked) whenContinueAllowed(request, send);
      else send();
    });
    return await readAnswer(await answer);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    // Nothing more is sent to a store that responded early.
    if (!request.writableFinished) request.destroy();
  }
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

async function readAnswer(response: IncomingMessage): Promise<PutAnswer> {
  // The status is enough if the body is interrupted.
  const text = (await readBodyStart(response, MAX_ANSWER_BYTES)).toString();
  return { status: response.statusCode!, code: /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1] };
}
