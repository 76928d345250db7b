/** A TCP relay in front of the API server that counts connections, resets them, or falls silent. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class FaultProxy {
  readonly #target: URL;
  readonly #server: Server;
  readonly #sockets = new Map<Socket, number>();
  /** Connections accepted since the start. */
  accepted = 0;
  /** Accepts connections from now on and lets nothing through. */
  isDeaf = false;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#relay(client));
  }

  static async start(url: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address() as { port: number };
    return `https://127.0.0.1:${address.port}`;
  }

  /** Connections open now. */
  get open(): number {
    return this.#sockets.size / 2;
  }

  /** Connections open now deliver nothing any more, without closing; with a number only the nth accepted. */
  silence(nth?: number): void {
    for (const [socket, index] of this.#sockets)
      if (nth === undefined || index === nth) {
        socket.removeAllListeners('data');
        socket.on('data', () => {});
      }
  }

  /** As when the other side is killed: every connection is reset. */
  reset(): void {
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #relay(client: Socket): void {
    this.accepted++;
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.set(from, this.accepted);
      from.on('data', (chunk) => {
        if (!this.isDeaf) to.write(chunk);
      });
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
