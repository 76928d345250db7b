/** Where this replica's requests run: here while there is a place, else at a peer; the other way round while it is cordoned. */
import type { Acquisition, Capacity, EngineTarget } from './capacity.ts';
import type { Peers } from './peers.ts';
import type { Slots } from './slots.ts';

export interface ReplicaCapacityOptions {
  slots: Slots;
  engineURL: string;
  isEngineReady: () => boolean;
  /** Whether it is to become idle. */
  isCordoned?: () => boolean;
  peers: Pick<Peers, 'acquire'>;
}

export class ReplicaCapacity implements Capacity {
  readonly #options: ReplicaCapacityOptions;

  constructor(options: ReplicaCapacityOptions) {
    this.#options = options;
  }

  acquire(signal: AbortSignal): Acquisition | Promise<Acquisition> {
    const target = this.#options.isCordoned?.() ? null : this.takeLocal();
    return target ? { target } : this.#acquireFromPeers(signal);
  }

  /** The failed engine may not be known to have failed yet. */
  acquireElsewhere(lost: ReadonlySet<string>, signal: AbortSignal): Acquisition | Promise<Acquisition> {
    const { engineURL, isCordoned } = this.#options;
    const target = lost.has(engineURL) || isCordoned?.() ? null : this.takeLocal();
    return target ? { target } : this.#acquireFromPeers(signal, lost);
  }

  /** A place of this replica, if one is free and its engine is ready. */
  takeLocal(): EngineTarget | null {
    const { slots, isEngineReady, engineURL: origin } = this.#options;
    const release = isEngineReady() ? slots.take() : null;
    return release && { origin, pathPrefix: '', headers: {}, local: true, release };
  }

  async #acquireFromPeers(signal: AbortSignal, lost?: ReadonlySet<string>): Promise<Acquisition> {
    const { isEngineReady, peers, engineURL } = this.#options;
    const answer = await peers.acquire(signal, lost);
    if ('target' in answer) return answer;
    // A place may have become free here while the peers were asked; and the last resort is a replica that is cordoned.
    const target = lost?.has(engineURL) ? null : this.takeLocal();
    if (target) return { target };
    return {
      refusal: isEngineReady() || answer.refusal === 'full' ? 'replica_saturated' : 'no_pod_available',
    };
  }
}
