/**
 * SSE load on bare sockets: C connections, each runs streams one after another for SECONDS. Prints one line of JSON:
 * streams and frames, time to first frame (request written → first `data:`), time between frames that come one by one, streams that were
 * not whole.
 */
import { connect } from 'node:net';
import { request, url } from './chat-request.ts';
import { percentile } from './statistics.ts';
import { ENDING_LENGTH, judgeEnding } from './stream-ending.ts';

const connections = Number(process.env.C);
const seconds = Number(process.env.SECONDS);
const isPaced = process.env.BODY!.includes('bench-paced');
/** Frames of text; other frames depend on the gateway. */
const FRAMES = 100;

const firstFrames: number[] = [];
const gaps: number[] = [];
let complete = 0;
let broken = 0;
let total = 0;

/** Runs streams on one connection until the time is over. The end of a stream is its last, empty chunk. */
function runConnection(until: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    let start = 0;
    let frames = 0;
    let lastAt = 0;
    let ending = '';
    let isOpen = true;
    const send = () => {
      isOpen = performance.now() <= until;
      if (!isOpen) {
        socket.destroy();
        return;
      }
      start = performance.now();
      frames = 0;
      ending = '';
      socket.write(request);
    };
    socket.setNoDelay(true);
    socket.on('connect', send);
    socket.on('data', (data: Buffer) => {
      const piece = data.toString('latin1');
      // Too short to hold a match, long enough to complete one that is cut between two reads.
      const text = ending.slice(-5) + piece;
      const now = performance.now();
      if (frames > 0 && isPaced) gaps.push(now - lastAt);
      lastAt = now;
      if (frames === 0 && text.includes('data: ')) firstFrames.push(now - start);
      frames += countMatches(text, 'data: ');
      ending = (ending + piece).slice(-ENDING_LENGTH);
      if (!ending.endsWith('0\r\n\r\n')) return;
      if (frames >= FRAMES && judgeEnding(ending) === 'whole') {
        complete++;
        total += frames;
      } else broken++;
      send();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (isOpen) broken++;
      resolve();
    });
  });
}

function countMatches(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) count++;
  return count;
}

const begin = performance.now();
const until = begin + seconds * 1_000;
await Promise.all(
  Array.from({ length: connections }, async (_, index) => {
    // Starts of paced streams are spread over a second, like those of clients.
    if (isPaced) await new Promise((resolve) => setTimeout(resolve, (index * 1_000) / connections));
    await runConnection(until);
  }),
);
const elapsed = (performance.now() - begin) / 1_000;
console.log(
  `JSON ${JSON.stringify({
    streams: complete,
    frames: total,
    streamsPerSecond: complete / elapsed,
    firstFrameP50: percentile(firstFrames, 0.5),
    firstFrameP99: percentile(firstFrames, 0.99),
    gapP99: percentile(gaps, 0.99),
    broken,
  })}`,
);
