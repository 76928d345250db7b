/** Connections to the engine in this pod: a small client of HTTP/1.1, which takes less CPU a request than undici. */
import { Dispatcher, errors } from 'undici';
import type { Handler } from '../../kit/passing-handler.ts';
import { type ConnectionKeeper, EngineConnection } from './engine-connection.ts';
import { type ConnectionSource, EngineExchange } from './engine-exchange.ts';

/** The engine may be slow to accept, and has no alternative. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Of an engine that does not say how long it keeps a connection. */
const KEPT_MS = 4_000;
/** Before the engine's own time is over. */
const MARGIN_MS = 2_000;
const MAX_KEPT_MS = 600_000;
const SWEEP_MS = 1_000;

export interface EngineClientOptions {
  /** A request is sent once more: its reused connection broke before any byte of a response. */
  onResend?: (() => void) | undefined;
  connectTimeoutMs?: number;
}

export class EngineClient extends Dispatcher implements ConnectionKeeper, ConnectionSource {
  readonly onResend: () => void;
  readonly #address: { host: string; port: number };
  readonly #host: string;
  readonly #connectTimeoutMs: number;
  readonly #connections = new Set<EngineConnection>();
  /** The one that was used last is at the end. */
  readonly #idle: { connection: EngineConnection; until: number }[] = [];
  #sweep: NodeJS.Timeout | null = null;
  #isDestroyed = false;

  constructor(
    origin: string,
    { onResend = () => {}, connectTimeoutMs = CONNECT_TIMEOUT_MS }: EngineClientOptions = {},
  ) {
    super();
    const { protocol, host, hostname, port } = new URL(origin);
    if (protocol !== 'http:') throw new errors.InvalidArgumentError('The engine is reached by plain HTTP.');
    this.#host = host;
    this.#address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
    this.onResend = onResend;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Open connections without a request. */
  get idle(): number {
    return this.#idle.length;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    new EngineExchange(options, handler, this).begin(this.#host);
    return true;
  }

  /** One that is idle, or a new one. */
  open({ isFresh }: { isFresh: boolean }): EngineConnection {
    if (this.#isDestroyed) throw new errors.ClientDestroyedError();
    const now = performance.now();
    for (let last = isFresh ? undefined : this.#idle.pop(); last; last = this.#idle.pop()) {
      if (last.until > now && last.connection.isUsable) return last.connection;
      last.connection.destroy();
    }
    const connection = new EngineConnection(this.#address, this.#connectTimeoutMs, this);
    this.#connections.add(connection);
    return connection;
  }

  release(connection: EngineConnection, keptMs: number | null): void {
    const ms = keptMs === null ? KEPT_MS : Math.min(keptMs - MARGIN_MS, MAX_KEPT_MS);
    if (ms <= 0 || this.#isDestroyed) {
      connection.destroy();
      return;
    }
    this.#idle.push({ connection, until: performance.now() + ms });
    this.#sweep ??= setInterval(() => this.#closeIdle(), SWEEP_MS).unref();
  }

  forget(connection: EngineConnection): void {
    this.#connections.delete(connection);
    const index = this.#idle.findIndex((entry) => entry.connection === connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  override destroy(): Promise<void> {
    this.#isDestroyed = true;
    if (this.#sweep) clearInterval(this.#sweep);
    for (const connection of [...this.#connections]) connection.destroy(new errors.ClientDestroyedError());
    return Promise.resolve();
  }

  #closeIdle(): void {
    const now = performance.now();
    for (const { connection, until } of [...this.#idle]) if (until <= now) connection.destroy();
    if (this.#idle.length > 0 || !this.#sweep) return;
    clearInterval(this.#sweep);
    this.#sweep = null;
  }
}
