/** A store with faults that no real one has on demand. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Fault = (request: IncomingMessage, response: ServerResponse) => void;

export interface FaultyStore {
  url: string;
  /** Uploads that were begun. */
  attempts: number;
  /** Bytes of all connections that have ended. */
  bytes: number;
  stop(): Promise<void>;
}

/** `faults`: of each attempt in turn; the last one of all that follow. */
export async function startFaultyStore(...faults: Fault[]): Promise<FaultyStore> {
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const fault = faults[Math.min(store.attempts++, faults.length - 1)]!;
    request.on('error', () => {});
    response.on('error', () => {});
    fault(request, response);
  };
  const server = createServer(answer).on('checkContinue', answer);
  const store: FaultyStore = {
    url: '',
    attempts: 0,
    bytes: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  server.on('connection', (socket) => {
    socket.on('close', () => {
      store.bytes += socket.bytesRead;
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  store.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket/key?signature=x`;
  return store;
}

const goOn = (request: IncomingMessage, response: ServerResponse) => {
  if (request.headers.expect) response.writeContinue();
};

/** Reads nothing of the upload. */
export const answerAtOnce =
  (status: number, code?: string): Fault =>
  (_request, response) => {
    response.writeHead(status, { connection: 'close' });
    response.end(code && `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
  };

/** Reads it all first. */
export const answerAtEnd =
  (status: number, code?: string): Fault =>
  (request, response) => {
    goOn(request, response);
    request.resume().once('end', () => answerAtOnce(status, code)(request, response));
  };

/** Reads on, so that the client receives the response. */
export const answerMidway =
  (status: number): Fault =>
  (request, response) => {
    goOn(request, response);
    request.once('data', () => response.writeHead(status).end()).resume();
  };

export const breakOffMidway: Fault = (request, response) => {
  goOn(request, response);
  request.once('data', () => request.socket.resetAndDestroy());
};

export const sayNothing: Fault = () => {};

/** Never asks for the rest. */
export const readLittle: Fault = (request, response) => {
  goOn(request, response);
  request.once('data', () => request.pause());
};

/** Takes the upload without ever saying that it may go on. */
export const skipContinue: Fault = (request, response) => {
  request.resume().once('end', () => response.writeHead(200).end());
};
