/** An engine that answers each path with the bytes that were given for it. */
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { startSocketServer } from './loopback-server.ts';
import type { RandomAnswer } from './random-answers.ts';

export interface ScriptedEngine {
  origin: string;
  /** The answer to `/` and its id. */
  script(answer: RandomAnswer): void;
  stop(): Promise<void>;
}

export async function startScriptedEngine(): Promise<ScriptedEngine> {
  const answers = new Map<number, RandomAnswer>();
  const server = await startSocketServer((socket) => {
    let received = '';
    let isAnswered = false;
    socket.setNoDelay(true).on('error', () => {});
    socket.on('data', (data) => {
      received += data.toString('latin1');
      const answer = answers.get(Number(/^[A-Z]+ \/(\d+) /.exec(received)?.[1]));
      const bytes = measureRequest(received);
      const isEarly = bytes === null && answer?.isEarly === true && !isAnswered;
      if (bytes !== null && isAnswered) {
        // The rest of a request that was answered early; the next one may follow it.
        received = received.slice(bytes);
        isAnswered = false;
        if (received !== '') socket.emit('data', Buffer.alloc(0));
      } else if (bytes !== null || isEarly) {
        if (isEarly) socket.pause();
        else received = '';
        isAnswered = isEarly;
        void send(socket, answer!).then(() => socket.resume());
      }
    });
  });
  return {
    origin: `http://127.0.0.1:${server.port}`,
    script: (answer) => void answers.set(answer.id, answer),
    stop: server.stop,
  };
}

/** In bytes; null: it is not complete. */
function measureRequest(received: string): number | null {
  const head = received.indexOf('\r\n\r\n') + 4;
  if (head < 4) return null;
  const fields = received.slice(0, head);
  if (fields.includes('transfer-encoding: chunked')) {
    const end = received.indexOf('\r\n0\r\n\r\n', head);
    return end < 0 ? null : end + 7;
  }
  const bytes = head + Number(/content-length: (\d+)/.exec(fields)?.[1] ?? 0);
  return received.length < bytes ? null : bytes;
}

async function send(socket: Socket, { wire, cuts, end }: RandomAnswer): Promise<void> {
  let at = 0;
  for (const bytes of [...cuts, wire.length]) {
    if (at >= wire.length || socket.destroyed) break;
    socket.write(wire.slice(at, at + bytes), 'latin1');
    at += bytes;
    await setImmediate();
  }
  if (end === 'closed') socket.end();
  if (end === 'reset') socket.resetAndDestroy();
}
