/** A stream that a test inspects while it is running. */
import { assemble, type Fields, readFrames, send, type Target } from './answers.ts';

export interface OpenStream {
  status: number;
  /** The frames so far. */
  frames: string[];
  /** Arrival of each, by performance.now(). */
  arrivals: number[];
  ended: Promise<void>;
  leave(): void;
}

export async function openStream(target: Target, path: string, body: Fields): Promise<OpenStream> {
  const leaving = new AbortController();
  // The other dialects always report usage.
  const options = path === '/chat/completions' ? { stream_options: { include_usage: true } } : {};
  const fields = { ...body, stream: true, ...options };
  const response = await send(target, path, fields, leaving.signal);
  const frames: string[] = [];
  const arrivals: number[] = [];
  const read = async () => {
    let rest = '';
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const end = (rest + text).lastIndexOf('\n') + 1;
      const now = performance.now();
      for (const frame of readFrames((rest + text).slice(0, end))) {
        frames.push(frame);
        arrivals.push(now);
      }
      rest = (rest + text).slice(end);
    }
  };
  // A client that disconnects gets an error, which is expected.
  const ended = read().catch(() => {});
  return { status: response.status, frames, arrivals, ended, leave: () => leaving.abort() };
}

/** As in a response without streaming. */
export const readStream = (stream: OpenStream): Fields =>
  assemble(stream.frames.filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame)));
