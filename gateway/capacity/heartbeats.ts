/** Sends the heartbeats of this replica to its peers and receives theirs. */
import type { Heartbeat } from '../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import type { PeerUpdate } from '../../redis/heartbeats/heartbeats.ts';

export type OwnHeartbeat = Omit<Heartbeat, 'at' | 'every'>;

export interface HeartbeatOptions {
  describe: () => OwnHeartbeat;
  /** Writes one heartbeat and reads all, unless unchanged since the known edition; throws while Redis is down. */
  send: (own: Omit<Heartbeat, 'at'>, knownEdition: string) => Promise<PeerUpdate>;
  /** Called with the live peers whenever any of them has changed. */
  onPeers?: (peers: readonly Heartbeat[]) => void;
  /** At most once a second, after the peers were read, with those that have just reported; not while Redis is away. */
  onSecond?: ((own: OwnHeartbeat, peers: readonly Heartbeat[]) => void) | undefined;
  onError: (error: unknown) => void;
  /** After a change of its own, peers are expected to change alike: so long it looks every second. */
  eagerMs?: number | undefined;
  clock?: Clock;
}

const INTERVAL_MS = 1_000;
/** For an idle, unchanged replica: each heartbeat costs Redis a write. */
const IDLE_INTERVAL_MS = 8_000;
const COALESCE_MS = 50;
/** A peer that missed so many heartbeats is no longer asked; on a busy machine three are easily missed. */
const FRESH_MS = 8_000;
const FRESH_BEATS = 3;
/** A busy replica beats every second: what is older has changed since. */
const RECENT_MS = 3_000;

export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #clock: Clock;
  #cancelInterval = () => {};
  #peers: readonly Heartbeat[] = [];
  #cancelNext: (() => void) | null = null;
  #sending: Promise<void> | null = null;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** The last own heartbeat written, as text. */
  #reported = '';
  /** The last own state that differed from the one before, as text, and since when. */
  #changed = { text: '', at: Number.NEGATIVE_INFINITY };
  #edition = '';
  /** Redis' time at which the peers were last read. */
  #readAt = 0;
  #isSecondOver = false;
  #isClosed = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#watch();
    this.poke();
  }

  /** The other replicas, as last read; kept while Redis is down. */
  get peers(): readonly Heartbeat[] {
    return this.#peers;
  }

  /** Sends a heartbeat soon: calls within 50 ms are coalesced. */
  poke(): void {
    if (this.#isClosed || this.#cancelNext) return;
    const wait = Math.max(0, this.#sentAt + COALESCE_MS - this.#clock.now());
    this.#cancelNext = this.#clock.after(wait, () => {
      this.#cancelNext = null;
      void this.#send();
    });
  }

  /** Sends nothing more; resolves when the last heartbeat is acknowledged. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelInterval();
    this.#cancelNext?.();
    await this.#sending;
  }

  #watch(): void {
    this.#cancelInterval = this.#clock.after(INTERVAL_MS, () => {
      this.#watch();
      this.#isSecondOver = true;
      if (this.#isDue()) this.poke();
    });
  }

  /** Every second while busy or changed, else often enough to stay fresh for the peers. */
  #isDue(): boolean {
    if (this.#clock.now() - this.#changed.at < (this.#options.eagerMs ?? 0)) return true;
    const own = this.#options.describe();
    const isIdle = own.inflight === 0 && JSON.stringify(own) === this.#reported;
    return !isIdle || this.#clock.now() - this.#sentAt >= IDLE_INTERVAL_MS - INTERVAL_MS / 2;
  }

  /** One at a time, so that an older heartbeat never overwrites a newer one. */
  async #send(): Promise<void> {
    await this.#sending;
    if (this.#isClosed) return;
    this.#sentAt = this.#clock.now();
    const own = this.#options.describe();
    const text = JSON.stringify(own);
    const state = describeState(own);
    if (state !== this.#changed.text) this.#changed = { text: state, at: this.#sentAt };
    const every = own.inflight === 0 ? IDLE_INTERVAL_MS : INTERVAL_MS;
    this.#reported = '';
    this.#sending = this.#options.send({ ...own, every }, this.#edition).then(
      ({ edition, beats }) => {
        this.#reported = text;
        this.#edition = edition;
        if (beats) this.#update(own, beats);
        this.#endSecond(own);
      },
      (error) => this.#options.onError(error),
    );
    await this.#sending;
  }

  #update(own: OwnHeartbeat, all: Heartbeat[]): void {
    const now = all.find(({ pod }) => pod === own.pod)?.at ?? 0;
    this.#readAt = now;
    const isFresh = ({ at, every }: Heartbeat) => at > now - Math.max(FRESH_MS, FRESH_BEATS * every);
    this.#peers = all.filter((beat) => beat.v === 1 && beat.pod !== own.pod && isFresh(beat));
    this.#options.onPeers?.(this.#peers);
  }

  #endSecond(own: OwnHeartbeat): void {
    if (!this.#isSecondOver) return;
    this.#isSecondOver = false;
    this.#options.onSecond?.(
      own,
      this.#peers.filter(({ at }) => at > this.#readAt - RECENT_MS),
    );
  }
}

/** Without what changes with requests: peers do not change alike. */
const describeState = (own: OwnHeartbeat): string => JSON.stringify({ ...own, inflight: 0, queued: 0 });
