/** How a gateway ends: in good order on the first signal, at once on the second. */
import type { Server } from 'node:http';

export type Stop = () => Promise<void>;

/** Calls `stop` once on SIGTERM or SIGINT and exits 0 after it, 1 if it fails; a second signal exits at once. */
export function stopOnSignal(stop: Stop): void {
  let isStopping = false;
  const onSignal = () => {
    if (isStopping) process.exit(1);
    isStopping = true;
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** Listens, or throws an error that names the port. */
export function listen(server: Server, port: number, host?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) =>
      reject(new Error(`cannot listen on port ${port}: ${error.message}`, { cause: error }));
    server.once('error', onError);
    server.listen({ port, host }, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

const SWEEP_MS = 50;

/** Takes no more connections and lets requests in flight end; after `timeoutMs` it cuts them. */
export function closeServer(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // A connection whose answer had begun before becomes idle only when that has ended.
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
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
