/** One attempt to put a file behind a signed link. */
import { createReadStream, type ReadStream } from 'node:fs';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
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
  /** S3's word for what is wrong. */
  code: string | undefined;
}

/** From here on the store is asked before it is sent anything: it may well refuse. */
const ASKED_FROM_BYTES = 1024 * 1024;
/** Some stores never say that one may go on. */
const MOST_WAIT_FOR_CONTINUE_MS = 1_000;
const MOST_ANSWER_CHARACTERS = 16 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Resolves to any answer. Rejects with the network's error, a TimeoutError or the signal's reason. */
export async function putFile(options: PutRequest): Promise<PutAnswer> {
  const { grant, file, agents, idleMs, signal } = options;
  agents.judge(grant.url);
  const url = new URL(grant.url);
  const isTls = url.protocol === 'https:';
  const isAsked = file.bytes >= ASKED_FROM_BYTES;
  const request = (isTls ? httpsRequest : httpRequest)(url, {
    method: 'PUT',
    headers: { ...grant.headers, ...(isAsked && { expect: '100-continue' }) },
    agent: isTls ? agents.https : agents.http,
    // As an option it bounds connecting, too.
    timeout: idleMs,
    signal,
  });
  request.once('timeout', () => request.destroy(new DOMException('no byte in time', 'TimeoutError')));
  const body = createReadStream(file.path, { highWaterMark: CHUNK_BYTES });
  try {
    const answer = waitForAnswer(request, body);
    sendWhenWelcome(request, body, isAsked);
    return await readAnswer(await answer);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    body.destroy();
    // A store that answered before it had read all is sent no more.
    if (!request.writableFinished) request.destroy();
  }
}

function waitForAnswer(request: ClientRequest, body: ReadStream): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // It stays on: an error may follow the answer.
    request.on('error', reject).once('response', resolve);
    body.once('error', reject);
  });
}

function sendWhenWelcome(request: ClientRequest, body: ReadStream, isAsked: boolean): void {
  let timer: NodeJS.Timeout | undefined;
  let isSent = false;
  const send = () => {
    clearTimeout(timer);
    if (!isSent) body.pipe(request);
    isSent = true;
  };
  if (!isAsked) {
    send();
    return;
  }
  request.once('continue', send);
  request.once('socket', (socket) => {
    const start = () => {
      timer = setTimeout(send, MOST_WAIT_FOR_CONTINUE_MS);
    };
    if (socket.connecting) socket.once('connect', start);
    else start();
  });
  for (const event of ['response', 'close'])
    request.once(event, () => {
      clearTimeout(timer);
      isSent = true;
    });
}

async function readAnswer(response: IncomingMessage): Promise<PutAnswer> {
  let text = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk;
      if (text.length > MOST_ANSWER_CHARACTERS) break;
    }
  } catch {
    // The status is enough.
  }
  return { status: response.statusCode!, code: /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1] };
}
