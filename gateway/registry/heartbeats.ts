/** This replica's word to its peers, and theirs. */
import type { Heartbeat } from '../../contract/redis-keys.ts';

export type OwnHeartbeat = Omit<Heartbeat, 'at'>;

export interface HeartbeatOptions {
  describe: () => OwnHeartbeat;
  /** Writes one heartbeat and reads all; throws while Redis is away. */
  send: (own: OwnHeartbeat) => Promise<Heartbeat[]>;
  /** Told the fresh peers after each heartbeat. */
  onPeers?: (peers: readonly Heartbeat[]) => void;
  onError: (error: unknown) => void;
}

const INTERVAL_MS = 1_000;
const COALESCE_MS = 50;
/** Three missed heartbeats: the peer is not asked any more. */
const FRESH_MS = 3_500;

export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #interval: NodeJS.Timeout;
  #peers: readonly Heartbeat[] = [];
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #sentAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#interval = setInterval(() => this.poke(), INTERVAL_MS);
    this.#interval.unref();
    this.poke();
  }

  /** The other replicas, as last heard; kept while Redis is away. */
  get peers(): readonly Heartbeat[] {
    return this.#peers;
  }

  /** Says soon what changed: pokes within 50 ms become one heartbeat. */
  poke(): void {
    if (this.#isClosed || this.#timer) return;
    const wait = Math.max(0, this.#sentAt + COALESCE_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#send();
    }, wait);
    this.#timer.unref();
  }

  /** Sends nothing any more; resolves when the last heartbeat has been answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#interval);
    if (this.#timer) clearTimeout(this.#timer);
    await this.#sending;
  }

  /** One at a time, so that an older word never overwrites a newer one. */
  async #send(): Promise<void> {
    await this.#sending;
    if (this.#isClosed) return;
    this.#sentAt = performance.now();
    const own = this.#options.describe();
    this.#sending = this.#options.send(own).then(
      (all) => this.#hear(own, all),
      (error) => this.#options.onError(error),
    );
    await this.#sending;
  }

  #hear(own: OwnHeartbeat, all: Heartbeat[]): void {
    const now = all.find(({ pod }) => pod === own.pod)?.at ?? 0;
    this.#peers = all.filter(({ v, pod, at }) => v === 1 && pod !== own.pod && at > now - FRESH_MS);
    this.#options.onPeers?.(this.#peers);
  }
}
