/**
 * Reads of a server's connections in slices, while some of them bring tiny pieces. Node parses whatever one read brings, up to 64 KiB,
 * in one call: of chunks of one byte that takes 10 ms, for each of the connections that are ready at once. Slices cost every request
 * some microseconds more, so they are only made for a while after such a read was seen.
 */
import type { Socket } from 'node:net';
import { type Clock, systemClock } from './clock.ts';

/** A slice of chunks of one byte takes less than a millisecond. */
const SLICE_BYTES = 4 * 1024;
const GUARDED_MS = 60_000;

export class SlicedReads {
  readonly #clock: Clock;
  /** Those that Node's parser reads by itself. */
  readonly #whole = new Map<Socket, Parser>();
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Called as soon as the server has attached its parser. */
  add(socket: Socket): void {
    const parser = {
      parse: socket.listeners('data').at(-1),
      finish: socket.listeners('end').at(-1),
    } as Parser;
    if (this.#clock.now() < this.#until) {
      sliceReads(socket, parser);
      return;
    }
    this.#whole.set(socket, parser);
    socket.once('close', () => this.#whole.delete(socket));
  }

  /** From here on, no read is parsed in one call, of others not even in this turn of the loop. Called by the parser of `current`. */
  begin(current: Socket): void {
    this.#until = this.#clock.now() + GUARDED_MS;
    for (const [socket, parser] of this.#whole)
      if (socket === current) setImmediate(() => sliceReads(socket, parser));
      else sliceReads(socket, parser);
    this.#whole.clear();
  }
}

/** Listeners of a socket. */
interface Parser {
  parse: (data: Buffer) => void;
  finish: () => void;
}

/** Hands the parser one slice after the other, and none while the socket is paused. */
function sliceReads(socket: Socket, { parse, finish }: Parser): void {
  socket.off('data', parse).off('end', finish);
  let rest: Buffer[] = [];
  const parseSlice = () => {
    const [next] = rest as [Buffer];
    if (next.length > SLICE_BYTES) rest[0] = next.subarray(SLICE_BYTES);
    else rest.shift();
    parse(next.subarray(0, SLICE_BYTES));
    // What is no valid request, or a refused one, is not parsed any further.
    if (socket.listenerCount('data', take) === 0) rest = [];
  };
  const go = () => {
    while (rest.length > 0 && !socket.isPaused()) parseSlice();
  };
  const take = (data: Buffer) => {
    rest.push(data);
    go();
  };
  /** A socket that has ended cannot be resumed. */
  const end = () => {
    if (socket.destroyed) return;
    if (rest.length === 0) {
      finish();
      return;
    }
    parseSlice();
    setImmediate(end);
  };
  // Attaching it takes the socket from Node's parser, which reads by itself otherwise.
  socket.on('data', take).on('end', end);
  socket.on('resume', () => {
    // Where Node's parser had stopped the reads, the stream takes them for running.
    if (socket.readableLength === 0) socket._read(0);
    go();
  });
}
