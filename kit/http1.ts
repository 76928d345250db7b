/** Connections of undici. */
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/**
 * Undici negotiates HTTP/2 by default. There, Node falls into an endless loop when a request with a body is aborted while it is sent, and a
 * connection that lost its peer stays in use.
 */
export const HTTP1_ONLY = { allowH2: false } as const;

/** Enough for a turn of tiny pieces; larger, each pause would copy more. */
const SLICE_BYTES = 16 * 1024;

/** For pools, beside HTTP1_ONLY. */
export function connectHTTP1(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector({ ...options, ...HTTP1_ONLY });
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (!socket) return callback(error!, null);
      sliceAfterPause(socket);
      callback(null, socket);
    });
}

/**
 * Where an answer is paused, undici puts what it has not parsed back into the socket, and takes everything out once it goes on: found empty,
 * the socket reads on. An answer in small chunks would come into memory whole, however slowly it is read, and be copied at each pause.
 * Slices leave the rest where it is.
 */
function sliceAfterPause(socket: Socket): void {
  const read = socket.read.bind(socket);
  const unshift = socket.unshift.bind(socket);
  let isSliced = false;
  socket.unshift = (rest: Buffer) => {
    isSliced ||= rest.length > 0;
    unshift(rest);
  };
  socket.read = (size?: number) => {
    // From a destroyed socket, undici takes the rest at once.
    if (!isSliced || size !== undefined || socket.destroyed || socket.readableLength === 0) return read(size);
    return read(Math.min(socket.readableLength, SLICE_BYTES));
  };
}
