/**
 * Routes requests with the same beginning to the same replica, whose engine then has it cached. All replicas come
 * to the same choice independently: from the prefix, the names of the replicas and their loads (decision 0281).
 */
import type { Heartbeat } from '../../api/redis-keys.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import type { EngineTarget } from './capacity.ts';
import { MovingAverage } from './moving-average.ts';
import { PeerLoads } from './peer-loads.ts';
import type { BalancedAnswer, Peers } from './peers.ts';
import { Popularity, PrefixFork } from './prefix-fork.ts';
import { deriveSeed, hashPrefix } from './prefix-hash.ts';
import { type Choosable, chooseReplica, computeBounds, isWithin } from './replica-choice.ts';

export interface PrefixBalanceOptions {
  isOn: () => boolean;
  /** The deployment's secret: nobody else can predict where a prefix is routed. */
  secret: string;
  pod: string;
  /** Slots of this replica. */
  slots: Readonly<Pick<Choosable, 'inflight' | 'limit'>>;
  /** Whether new work may start at the own engine. */
  isOwnOpen: () => boolean;
  /** Whether this replica is being removed, and routes nothing to others. */
  isLeaving: () => boolean;
  list: () => readonly Heartbeat[];
  peers: Pick<Peers, 'acquireBalanced' | 'listOpen'>;
  onChoice?: ((choice: PrefixChoice) => void) | undefined;
  clock?: Pick<Clock, 'now'>;
}

/** `own`, `peer`: the first choice accepted it. `other`: it had no slot after all. */
export type PrefixChoice = 'own' | 'peer' | 'other';

/**
 * A prefix shared by more requests than this, with many continuations, is not used: a longer one is. As a fraction of a replica's fair share; the smaller, the more
 * evenly requests are spread, and the more replicas cache the same popular beginnings.
 */
const POPULAR_SHARE = 0.1;
/** Peers asked per request. */
const MAX_ASKED = 2;

interface Option extends Choosable {
  /** null: this replica. */
  peer: Heartbeat | null;
}

export class PrefixBalance {
  readonly #options: PrefixBalanceOptions;
  readonly #loads: PeerLoads;
  readonly #popularity = new Popularity();
  readonly #seed: number;
  /** By pod. */
  readonly #known = new Map<string, { seed: number; average: MovingAverage }>();

  constructor(options: PrefixBalanceOptions) {
    this.#options = options;
    this.#loads = new PeerLoads(options.list);
    this.#seed = deriveSeed(options.secret, 'prompt prefix');
  }

  get inflight(): number {
    return this.#options.slots.inflight;
  }

  /**
   * The routing prefix of a request, from the parts of its prompt in the engine's order; null for a short one;
   * undefined if there is no choice.
   */
  read(parts: readonly unknown[]): number | null | undefined {
    const { isOn, list } = this.#options;
    const peers = list().length;
    if (peers === 0 || !isOn()) return undefined;
    this.#popularity.beginRequest();
    const fork = new PrefixFork(this.#popularity, POPULAR_SHARE / (peers + 1));
    hashPrefix(parts, this.#seed, (hash) => fork.visit(hash));
    return fork.hash;
  }

  /** A slot at the peer that the prefix routes to; null: the request runs here, or wherever there is a slot. */
  acquire(prefix: number, signal: AbortSignal): Promise<EngineTarget | null> | null {
    const { isOn, isLeaving, onChoice } = this.#options;
    if (!isOn() || isLeaving()) return null;
    const options = this.#listOptions();
    const chosen = chooseReplica(prefix, options);
    if (chosen?.peer) return this.#askPeers(prefix, signal, { options, first: chosen });
    if (chosen) onChoice?.('own');
    return null;
  }

  /** Whether one more request routed here is still within this replica's share. */
  hasShare(): boolean {
    const options = this.#listOptions();
    const own = options.find(({ isOwn }) => isOwn);
    return own !== undefined && isWithin(own, computeBounds(options));
  }

  /** Load reported by a peer. */
  observe(pod: string, inflight: BalancedAnswer['inflight']): void {
    const count = typeof inflight === 'string' && /^\d{1,9}$/.test(inflight) ? Number(inflight) : null;
    if (count !== null) this.#loads.observe(pod, count);
  }

  /** After each heartbeat, with all live peers. */
  keepOnly(peers: readonly Heartbeat[]): void {
    this.#loads.keepOnly(peers);
    const pods = new Set([this.#options.pod, ...peers.map(({ pod }) => pod)]);
    for (const pod of this.#known.keys()) if (!pods.has(pod)) this.#known.delete(pod);
  }

  async #askPeers(
    prefix: number,
    signal: AbortSignal,
    { options, first }: { options: Option[]; first: Option },
  ): Promise<EngineTarget | null> {
    const { onChoice } = this.#options;
    let chosen: Option | null = first;
    for (let asked = 0; chosen?.peer && asked < MAX_ASKED && !signal.aborted; asked++) {
      const target = await this.#ask(chosen.peer, signal);
      if (target) {
        onChoice?.(asked === 0 ? 'peer' : 'other');
        return target;
      }
      options.splice(options.indexOf(chosen), 1);
      chosen = chooseReplica(prefix, options);
    }
    onChoice?.('other');
    return null;
  }

  async #ask(peer: Heartbeat, signal: AbortSignal): Promise<EngineTarget | null> {
    const { answer, inflight } = await this.#options.peers.acquireBalanced(peer, this.inflight, signal);
    this.observe(peer.pod, inflight);
    if ('target' in answer) {
      // An older one does not report it.
      if (inflight === undefined) this.#loads.enter(peer.pod);
      return this.#countOut(peer.pod, answer.target);
    }
    const isLost = inflight === undefined || answer.refusal === 'unavailable';
    if (isLost && !signal.aborted) this.#loads.lose(peer.pod);
    return null;
  }

  /** Whose end is counted once. */
  #countOut(pod: string, target: EngineTarget): EngineTarget {
    let isHeld = true;
    return {
      ...target,
      release: () => {
        if (isHeld) this.#loads.leave(pod);
        isHeld = false;
        target.release();
      },
    };
  }

  #listOptions(): Option[] {
    const { peers, slots, pod, isOwnOpen } = this.#options;
    const options: Option[] = [];
    for (const peer of peers.listOpen()) {
      if (this.#loads.isLost(peer)) continue;
      const inflight = this.#loads.estimate(peer);
      options.push({ peer, isOwn: false, ...this.#describe(peer.pod, inflight), limit: peer.limit });
    }
    if (isOwnOpen()) {
      const { inflight, limit } = slots;
      options.push({ peer: null, isOwn: true, ...this.#describe(pod, inflight), limit });
    }
    return options;
  }

  #describe(pod: string, inflight: number): { seed: number; inflight: number; average: number } {
    const { secret, clock = systemClock } = this.#options;
    let known = this.#known.get(pod);
    if (known === undefined) {
      known = { seed: deriveSeed(secret, pod), average: new MovingAverage() };
      this.#known.set(pod, known);
    }
    return { seed: known.seed, inflight, average: known.average.add(inflight, clock.now()) };
  }
}
