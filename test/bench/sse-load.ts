/**
 * SSE load on bare sockets: C connections, each runs streams one after another for SECONDS. Prints one line of JSON:
 * streams and frames, time to first frame (request written → first `data:`), incomplete streams.
 */
import { connect } from 'node:net';

const url = new URL(process.env.URL_!);
const connections = Number(process.env.C);
const seconds = Number(process.env.SECONDS);
const isPaced = process.env.BODY!.includes('"user":"paced"');
const FRAMES = 102;

const request = Buffer.from(
  `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n` +
    `authorization: Bearer ${process.env.API_KEY}\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: ${process.env.ENGINE_URL}/v1\r\n` +
    `content-length: ${Buffer.byteLength(process.env.BODY!)}\r\n\r\n${process.env.BODY}`,
);
const firstFrames: number[] = [];
let complete = 0;
let broken = 0;

/** Runs streams on one connection until the time is over. The end of a stream is its last, empty chunk. */
function runConnection(until: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    let start = 0;
    let frames = 0;
    let tail = '';
    const send = () => {
      if (performance.now() > until) {
        socket.destroy();
        return;
      }
      start = performance.now();
      frames = 0;
      tail = '';
      socket.write(request);
    };
    socket.setNoDelay(true);
    socket.on('connect', send);
    socket.on('data', (data: Buffer) => {
      const text = tail + data.toString('latin1');
      if (frames === 0 && text.includes('data: ')) firstFrames.push(performance.now() - start);
      frames += countMatches(text, 'data: ');
      // Too short to hold a match, long enough to complete one that is cut between two reads.
      tail = text.slice(-5);
      if (!text.endsWith('0\r\n\r\n')) return;
      if (frames === FRAMES && text.includes('[DONE]')) complete++;
      else broken++;
      send();
    });
    socket.on('error', () => broken++);
    socket.on('close', () => resolve());
  });
}

function countMatches(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) count++;
  return count;
}

const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

const begin = performance.now();
const until = begin + seconds * 1_000;
await Promise.all(
  Array.from({ length: connections }, async (_, index) => {
    // Paced streams start spread over a second, as callers do.
    if (isPaced) await new Promise((resolve) => setTimeout(resolve, (index * 1_000) / connections));
    await runConnection(until);
  }),
);
const elapsed = (performance.now() - begin) / 1_000;
console.log(
  `JSON ${JSON.stringify({
    streams: complete,
    frames: complete * FRAMES,
    streamsPerSecond: complete / elapsed,
    firstFrameP50: percentile(firstFrames, 0.5),
    firstFrameP99: percentile(firstFrames, 0.99),
    broken,
  })}`,
);
