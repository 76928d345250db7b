/**
 * A fake OpenAI engine on bare sockets, so that it is never the bottleneck. A word of the prompt chooses:
 * `bench-slow` answers after 3 s, `bench-burst` streams 100 chunks at once, `bench-paced` one chunk every 10 ms. It calls itself MODEL, the
 * name that it is asked by, as engines do.
 */
import { createServer, type Socket } from 'node:net';

const CHUNKS = 100;
const SLOW_MS = 3_000;
const PACE_MS = 10;

const usage = { prompt_tokens: 10, completion_tokens: CHUNKS, total_tokens: CHUNKS + 10 };
const head = { id: 'chatcmpl-1', created: 1, model: process.env.MODEL };
const counters = { aborted: 0, abortedEarly: 0, done: 0 };

const completion = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'lorem ipsum dolor sit amet '.repeat(27), refusal: null },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage,
});
const plain = respond('application/json', completion);
// smg routes by it.
const models = respond(
  'application/json',
  JSON.stringify({ object: 'list', data: [{ id: process.env.MODEL, object: 'model' }] }),
);

const chunk = (data: object | string) => {
  const text = `data: ${typeof data === 'string' ? data : JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`;
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
};
const frames = Array.from({ length: CHUNKS }, (_, index) =>
  chunk({
    choices: [
      {
        index: 0,
        delta: { content: ` tok${index}` },
        finish_reason: index === CHUNKS - 1 ? 'stop' : null,
        logprobs: null,
      },
    ],
  }),
);
const ending = Buffer.concat([chunk({ choices: [], usage }), chunk('[DONE]'), Buffer.from('0\r\n\r\n')]);
const streamHead = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n',
);

function respond(type: string, body: string): Buffer {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function answer(socket: Socket, body: Buffer): void {
  if (body.includes('bench-slow')) answerSlowly(socket);
  else if (body.includes('"stream":true')) stream(socket, body.includes('bench-paced') ? PACE_MS : 0);
  else socket.write(plain);
}

function answerSlowly(socket: Socket): void {
  let isOver = false;
  socket.once('close', () => {
    if (!isOver) counters.abortedEarly++;
  });
  setTimeout(() => {
    isOver = true;
    if (!socket.destroyed) socket.write(plain);
  }, SLOW_MS);
}

function stream(socket: Socket, paceMs: number): void {
  let next = 0;
  socket.write(Buffer.concat([streamHead, frames[next++]!]));
  const step = () => {
    if (socket.destroyed) {
      counters.aborted++;
    } else if (next < CHUNKS) {
      socket.write(frames[next++]!);
      schedule();
    } else {
      socket.write(ending);
      counters.done++;
    }
  };
  const schedule = () => (paceMs > 0 ? setTimeout(step, paceMs) : setImmediate(step));
  schedule();
}

/** The first whole request in `buffer`, or undefined while it is incomplete. */
function readRequest(buffer: Buffer): { target: string; body: Buffer; rest: Buffer } | undefined {
  const headEnd = buffer.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const text = buffer.toString('latin1', 0, headEnd);
  const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
  const isChunked = /transfer-encoding: *chunked/i.test(text);
  const chunksEnd = isChunked ? buffer.indexOf('0\r\n\r\n', headEnd) : 0;
  const end = isChunked ? (chunksEnd < 0 ? -1 : chunksEnd + 5) : headEnd + 4 + length;
  if (end < 0 || buffer.length < end) return undefined;
  return { target: text.split(' ')[1]!, body: buffer.subarray(headEnd + 4, end), rest: buffer.subarray(end) };
}

createServer((socket) => {
  let buffer: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (data) => {
    buffer = buffer.length > 0 ? Buffer.concat([buffer, data as Buffer]) : (data as Buffer);
    for (let request = readRequest(buffer); request; request = readRequest(buffer)) {
      buffer = request.rest;
      if (request.target === '/stats') socket.write(respond('application/json', JSON.stringify(counters)));
      else if (request.target === '/health') socket.write(respond('text/plain', 'ok'));
      else if (request.target === '/v1/models') socket.write(models);
      else answer(socket, request.body);
    }
  });
}).listen(Number(process.env.PORT), '127.0.0.1', 1024);
