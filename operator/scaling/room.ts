/** Who may try to find room, where GPUs of a kind are short: a few at a time, chosen fairly. No I/O. */
import { orderFairly, type Waiting } from './fairness.ts';

/** Pods that may wait for room at a time, of one kind of GPU; each other deployment waits for its turn. */
const MAX_PROBES = 8;

/** A deployment as it stands. */
export interface Placement {
  /** `namespace/name`. */
  key: string;
  namespace: string;
  /** Resource name of its GPUs; empty where it takes none. */
  resource: string;
  /** Pods on nodes. */
  placed: number;
  /** One of its pods found no node. */
  isRefused: boolean;
  /** Unix milliseconds since when it needs more than it has on nodes; undefined while it does not. */
  waitingSince: number | undefined;
}

export class Room {
  #scarce: ReadonlySet<string> = new Set();
  #admitted: ReadonlySet<string> = new Set();

  /** Whether a deployment on these GPUs may keep a pod that has no node. */
  mayProbe(key: string, resource: string): boolean {
    return !this.#scarce.has(resource) || this.#admitted.has(key);
  }

  /** Takes how all deployments stand. */
  update(placements: readonly Placement[]): void {
    const scarce = new Set<string>();
    const admitted = new Set<string>();
    for (const [resource, group] of Map.groupBy(placements, (placement) => placement.resource)) {
      const held = new Map<string, number>();
      for (const { namespace, placed } of group) held.set(namespace, (held.get(namespace) ?? 0) + placed);
      const waiting = group.flatMap(({ key, namespace, waitingSince: since }): Waiting[] =>
        since === undefined ? [] : [{ key, namespace, since }],
      );
      const isRefused = group.some((placement) => placement.isRefused);
      // Short until nobody is left who had to wait.
      if (!isRefused && !(this.#scarce.has(resource) && waiting.length > MAX_PROBES)) continue;
      scarce.add(resource);
      for (const { key } of orderFairly(waiting, held).slice(0, MAX_PROBES)) admitted.add(key);
    }
    this.#scarce = scarce;
    this.#admitted = admitted;
  }
}
