/** Finds a block of free loopback ports. */
import { createServer } from 'node:net';

const BLOCK = 100;
const MAX_TRIES = 20;

/** The first base port at or above the preferred one that `isUsable` and whose ports (by `portsOf`) are all free. */
export async function findBasePort(
  preferred: number,
  portsOf: (base: number) => number[],
  isUsable: (base: number) => boolean,
): Promise<number> {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const base = preferred + attempt * BLOCK;
    if (!isUsable(base)) continue;
    const free = await Promise.all(portsOf(base).map(isFree));
    if (free.every(Boolean)) return base;
  }
  throw new Error(
    `no free ports from ${preferred} on: stop what listens there, or choose others with PORT=…`,
  );
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
