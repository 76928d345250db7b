/**
 * A client of HTTP/1.1 for one server, without TLS: as strict as undici with less CPU per request. Connections are unlimited, as its
 * callers limit their requests.
 */
import { Dispatcher, errors } from 'undici';
import { type ConnectionKeeper, Http1Connection } from './http1-connection.ts';
import { type ConnectionSource, Http1Exchange } from './http1-exchange.ts';
import type { Handler } from './passing-handler.ts';

/** A server may be slow to accept, and has no alternative. */
const CONNECT_TIMEOUT_MS = 10_000;
/** For servers that do not say how long they keep a connection. */
const KEPT_MS = 4_000;
/** Before the server's own time is over. */
const MARGIN_MS = 2_000;
const MAX_KEPT_MS = 600_000;
const SWEEP_MS = 1_000;

export interface Http1ClientOptions {
  /** A request is sent once more: its reused connection broke before any byte of a response. */
  onResend?: (() => void) | undefined;
  connectTimeoutMs?: number;
}

export class Http1Client extends Dispatcher implements ConnectionKeeper, ConnectionSource {
  readonly onResend: () => void;
  readonly #address: { host: string; port: number };
  readonly #host: string;
  readonly #connectTimeoutMs: number;
  readonly #connections = new Set<Http1Connection>();
  /** The one that was used last is at the end. */
  readonly #idle: Http1Connection[] = [];
  readonly #sweep = setInterval(() => this.#closeExpired(), SWEEP_MS).unref();
  #isClosed = false;
  #isDestroyed = false;

  constructor(origin: string, { onResend = () => {}, connectTimeoutMs }: Http1ClientOptions = {}) {
    super();
    const { protocol, host, hostname, port } = new URL(origin);
    if (protocol !== 'http:') throw new errors.InvalidArgumentError('not plain HTTP');
    this.#host = host;
    this.#address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
    this.onResend = onResend;
    this.#connectTimeoutMs = connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  }

  /** How many connections there are. */
  get stats(): { open: number; idle: number } {
    return { open: this.#connections.size, idle: this.#idle.length };
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    new Http1Exchange(options, handler, this).begin(this.#host);
    return true;
  }

  open({ isFresh }: { isFresh: boolean }): Http1Connection {
    if (this.#isDestroyed) throw new errors.ClientDestroyedError();
    const now = performance.now();
    for (let last = isFresh ? undefined : this.#idle.pop(); last; last = this.#idle.pop()) {
      if (last.idleUntil > now && last.isUsable) return last;
      last.destroy();
    }
    const connection = new Http1Connection(this.#address, this.#connectTimeoutMs, this);
    this.#connections.add(connection);
    return connection;
  }

  release(connection: Http1Connection, keptMs: number | null): void {
    const ms = keptMs === null ? KEPT_MS : Math.min(keptMs - MARGIN_MS, MAX_KEPT_MS);
    connection.idleUntil = performance.now() + ms;
    if (ms > 0 && !this.#isClosed) this.#idle.push(connection);
    else connection.destroy();
  }

  forget(connection: Http1Connection): void {
    this.#connections.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  /** Requests in flight finish. */
  override async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    for (const connection of [...this.#idle]) connection.destroy();
  }

  /** Requests in flight fail. */
  override async destroy(): Promise<void> {
    this.#isDestroyed = true;
    clearInterval(this.#sweep);
    for (const connection of [...this.#connections]) connection.destroy(new errors.ClientDestroyedError());
  }

  #closeExpired(): void {
    const now = performance.now();
    for (const connection of [...this.#idle]) if (connection.idleUntil <= now) connection.destroy();
  }
}
