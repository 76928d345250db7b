/** A connection of Http1Client: one exchange after the other. Whatever comes out of turn ends it. */
import { connect, type Socket } from 'node:net';
import { errors } from 'undici';
import { ResponseParser, type ResponseSink } from './http1-response.ts';

/** What one read brings is copied out of it at once, so all connections share it. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);
const KEEP_ALIVE_MS = 60_000;
const NOTHING = Buffer.alloc(0);

/** A request that a connection carries. */
export interface CarriedExchange extends ResponseSink {
  readonly method: string;
  readonly paused: boolean;
  /** The connection is established. */
  write(): void;
  /** The connection is gone. */
  fail(error: Error): void;
}

/** Keeps connections between exchanges. */
export interface ConnectionKeeper {
  /** `keptMs`: what the server says; null: nothing. */
  release(connection: Http1Connection, keptMs: number | null): void;
  forget(connection: Http1Connection): void;
}

export class Http1Connection {
  readonly socket: Socket;
  readonly #keeper: ConnectionKeeper;
  readonly #parser = new ResponseParser();
  #exchange: CarriedExchange | null = null;
  /** Read, but not parsed: the exchange waits. */
  #rest: Buffer = NOTHING;
  #isParsing = false;
  #hasEnded = false;
  /** It has carried a request before. */
  isReused = false;
  /** Some of a response to the current exchange has arrived. */
  hasResponse = false;
  /** While it is idle, by `performance.now`. */
  idleUntil = 0;

  constructor(address: { host: string; port: number }, timeoutMs: number, keeper: ConnectionKeeper) {
    this.#keeper = keeper;
    this.socket = connect({
      ...address,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      // The response may come whole though the server has closed its side.
      allowHalfOpen: true,
      onread: { buffer: READ_BUFFER, callback: (bytes) => this.#take(bytes) },
    });
    // After a standstill of the process, the timer comes before a connection that was made meanwhile.
    const timer = setTimeout(() => setImmediate(() => this.#giveUp()), timeoutMs);
    this.socket
      .once('connect', () => {
        clearTimeout(timer);
        this.#write();
      })
      .on('error', (error) => this.destroy(error))
      .on('end', () => {
        this.#hasEnded = true;
        this.#proceed();
      })
      .once('close', () => {
        clearTimeout(timer);
        this.destroy();
      });
  }

  get isUsable(): boolean {
    return !this.socket.destroyed && !this.#hasEnded;
  }

  carry(exchange: CarriedExchange): void {
    this.#exchange = exchange;
    this.hasResponse = false;
    this.#parser.expect(exchange.method, exchange);
    if (!this.socket.connecting) this.#write();
  }

  /** The exchange waits no longer. */
  resume(): void {
    this.socket.resume();
    this.#proceed();
  }

  /** The exchange that it carries fails with the error. */
  destroy(error: Error = new errors.SocketError('other side closed')): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    this.#rest = NOTHING;
    this.#keeper.forget(this);
    this.socket.destroy();
    exchange?.fail(error);
  }

  /** The response is complete. */
  end({ canReuse }: { canReuse: boolean }): void {
    this.#exchange = null;
    this.isReused = true;
    const isClean = this.#parser.canReuse && canReuse && this.socket.writableLength === 0;
    if (!isClean || !this.isUsable) this.destroy();
  }

  #giveUp(): void {
    if (this.socket.connecting) this.destroy(new errors.ConnectTimeoutError());
  }

  /** An error of the reader would end the process here. */
  #write(): void {
    try {
      this.#exchange?.write();
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #take(bytes: number): boolean {
    // A reader may keep a small piece: from Node's pool, that would keep 64 KiB.
    const data = Buffer.allocUnsafeSlow(bytes);
    READ_BUFFER.copy(data, 0, 0, bytes);
    this.hasResponse = true;
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, data]) : data;
    this.#proceed();
    return true;
  }

  #proceed(): void {
    if (this.#isParsing) return;
    this.#isParsing = true;
    const exchange = this.#exchange;
    try {
      if (exchange) this.#parse(exchange);
      else this.destroy();
    } catch (error) {
      this.destroy(error as Error);
    }
    this.#isParsing = false;
    if (!exchange || this.#exchange || this.socket.destroyed) return;
    // Bytes that nobody asked for would be taken for the next response.
    if (this.#rest.length > 0 || this.#hasEnded) this.destroy();
    else this.#keeper.release(this, this.#parser.keptMs);
  }

  #parse(exchange: CarriedExchange): void {
    const rest = this.#rest;
    const read = this.#parser.parse(rest);
    if (this.socket.destroyed) return;
    this.#rest = read === rest.length ? NOTHING : rest.subarray(read);
    if (!this.#hasEnded || this.#exchange !== exchange || exchange.paused) return;
    if (!this.#parser.finish()) this.destroy();
  }
}
