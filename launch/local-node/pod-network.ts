/**
 * Maps pods' ports to this machine. On Linux all of 127.0.0.0/8 is local: each pod has its own address, and
 * its ports are what they are in a cluster, but for those that another program holds on all addresses. Elsewhere there is 127.0.0.1 alone, and each port of a pod becomes a free one.
 */
import { createServer } from 'node:net';

export interface PodAddress {
  ip: string;
  /** The port of this machine for one of the pod's. */
  port: (containerPort: number) => number;
}

export type NetworkMode = 'addresses' | 'ports';

export const decideNetworkMode = (platform: string = process.platform): NetworkMode =>
  platform === 'linux' ? 'addresses' : 'ports';

const FIRST = 2;
const LAST = 254;

export class PodNetwork {
  readonly #mode: NetworkMode;
  readonly #prefix: string;
  readonly #taken = new Map<string, number>();
  #last = FIRST - 1;

  /** `basePort`: unique to this instance, so that two on one machine have different addresses. */
  constructor({ mode, basePort }: { mode: NetworkMode; basePort: number }) {
    this.#mode = mode;
    this.#prefix = `127.${(basePort >> 8) & 255}.${basePort & 255}`;
  }

  /** `ports`: those that the pod listens on. Throws if no address is left. */
  async attach(uid: string, ports: readonly number[]): Promise<PodAddress> {
    const ip = this.#mode === 'ports' ? '127.0.0.1' : this.#takeAddress(uid);
    const found = new Map<number, number>();
    for (const port of ports) {
      const isFree = this.#mode === 'addresses' && (await listenOnce(ip, port)) !== undefined;
      found.set(port, isFree ? port : await findFreePort(ip));
    }
    return { ip, port: (port) => found.get(port) ?? port };
  }

  release(uid: string): void {
    this.#taken.delete(uid);
  }

  #takeAddress(uid: string): string {
    const used = new Set(this.#taken.values());
    if (used.size > LAST - FIRST) throw new Error(`too many pods (limit ${LAST - FIRST + 1})`);
    // Round-robin, so that a recently used address is not reused at once.
    do this.#last = this.#last >= LAST ? FIRST : this.#last + 1;
    while (used.has(this.#last));
    this.#taken.set(uid, this.#last);
    return `${this.#prefix}.${this.#last}`;
  }
}

async function findFreePort(ip: string): Promise<number> {
  const port = await listenOnce(ip, 0);
  if (port === undefined) throw new Error(`no free port on ${ip}`);
  return port;
}

/** The port, if it is free. */
const listenOnce = (ip: string, wanted: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(wanted, ip, () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
