/** The peers' loads: from their heartbeats, corrected by what was observed since. */
import type { Heartbeat } from '../../api/redis-keys.ts';

interface Seen {
  /** Time of the heartbeat that it corrects: dropped with the next one. */
  at: number;
  inflight: number;
  /** It did not respond. */
  isLost: boolean;
}

export class PeerLoads {
  readonly #list: () => readonly Heartbeat[];
  readonly #seen = new Map<string, Seen>();

  constructor(list: () => readonly Heartbeat[]) {
    this.#list = list;
  }

  /** Requests at the peer's engine. */
  estimate(beat: Heartbeat): number {
    return this.#find(beat)?.inflight ?? beat.inflight;
  }

  /** Whether it failed to respond since its last heartbeat. */
  isLost(beat: Heartbeat): boolean {
    return this.#find(beat)?.isLost === true;
  }

  /** What a peer reports about itself. */
  observe(pod: string, inflight: number): void {
    this.#change(pod, (seen) => {
      seen.inflight = inflight;
      seen.isLost = false;
    });
  }

  /** A request of this replica is to run there. */
  enter(pod: string): void {
    this.#change(pod, (seen) => {
      seen.inflight++;
    });
  }

  /** A request of this replica has ended there. */
  leave(pod: string): void {
    this.#change(pod, (seen) => {
      seen.inflight = Math.max(0, seen.inflight - 1);
    });
  }

  /** It did not respond. */
  lose(pod: string): void {
    this.#change(pod, (seen) => {
      seen.isLost = true;
    });
  }

  /** Forgets all peers but these. */
  keepOnly(peers: readonly Heartbeat[]): void {
    const pods = new Set(peers.map(({ pod }) => pod));
    for (const pod of this.#seen.keys()) if (!pods.has(pod)) this.#seen.delete(pod);
  }

  #find({ pod, at }: Heartbeat): Seen | undefined {
    const seen = this.#seen.get(pod);
    return seen?.at === at ? seen : undefined;
  }

  /** Nothing is kept of a pod without a heartbeat. */
  #change(pod: string, change: (seen: Seen) => void): void {
    const beat = this.#list().find((each) => each.pod === pod);
    if (!beat) return;
    const seen = this.#find(beat) ?? { at: beat.at, inflight: beat.inflight, isLost: false };
    change(seen);
    this.#seen.set(pod, seen);
  }
}
