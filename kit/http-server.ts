/** The lifecycle of an HTTP server: it listens, and closes once its requests have ended. */
import type { Server } from 'node:http';

/** Resolves with the port; throws an error that names it. `port`: 0 takes a free one. `host`: all addresses if absent. */
export function listen(server: Server, port: number, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) =>
      reject(new Error(`cannot listen on port ${port}: ${error.message}`, { cause: error }));
    server.once('error', onError);
    server.listen({ port, host }, () => {
      server.off('error', onError);
      resolve(readServerPort(server));
    });
  });
}

const SWEEP_INTERVAL_MS = 50;

/** Stops accepting connections and lets requests in flight finish; aborts them after `timeoutMs`. */
export function closeServer(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // A connection with a response in progress becomes idle only when that has ended.
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_INTERVAL_MS);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** The port that a server listens on. */
export function readServerPort(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
