/** A relay before Redis that loses replies: Redis executes a command, and its client never learns of it. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { RedisServer } from './redis-server.ts';

export class ReplyLoss {
  readonly #server: Server;
  readonly #address: URL;
  readonly #sockets = new Set<Socket>();
  #text: string | null = null;
  /** Replies lost so far. */
  lost = 0;

  private constructor({ url, port }: RedisServer) {
    this.#address = new URL(url);
    this.#server = createServer((client) => this.#relay(client, port));
  }

  static async start(redis: RedisServer): Promise<ReplyLoss> {
    const relay = new ReplyLoss(redis);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    relay.#address.host = `127.0.0.1:${(relay.#server.address() as AddressInfo).port}`;
    return relay;
  }

  /** For clients, with the user and password of the server's. */
  get url(): string {
    return this.#address.href;
  }

  /** The reply to the next command with this text is lost, and its connection; null: none. */
  loseNext(text: string | null): void {
    this.#text = text;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #relay(client: Socket, port: number): void {
    const redis = connect(port, '127.0.0.1');
    let isLosing = false;
    client.on('data', (data) => {
      if (this.#text !== null && data.includes(this.#text)) {
        isLosing = true;
        this.#text = null;
      }
      redis.write(data);
    });
    redis.on('data', (data) => {
      if (!isLosing) client.write(data);
      else {
        this.lost++;
        client.destroy();
      }
    });
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}
