/** Writes bytes to a socket, for requests that no HTTP client sends. */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  head: string;
  body: string;
  /** The envelope's code; null if the body is no envelope. */
  code: string | null;
}

/** Sends the pieces with pauses, and reads until the server closes or a response is complete. */
export async function sendRaw(port: number, ...pieces: (string | Buffer)[]): Promise<RawAnswer> {
  const socket = await openSocket(port);
  let text = '';
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (isComplete(text)) resolve();
    });
    socket.on('close', () => resolve());
  });
  for (const piece of pieces) {
    if (!socket.writable) break;
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await answered;
  socket.destroy();
  return readAnswer(text);
}

export const openSocket = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(text.slice(0, end));
  return length !== null && text.length >= end + 4 + Number(length[1]);
}

function readAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), head, body, code: readCode(body) };
}

function readCode(body: string): string | null {
  try {
    return JSON.parse(body).error.code;
  } catch {
    return null;
  }
}
